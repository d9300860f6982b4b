/** The one function of jstat that is used; the package carries no types. */
declare module 'jstat' {
  const jstat: {
    readonly studentt: {
      /** Quantile of Student's t distribution. */
      readonly inv: (probability: number, degreesOfFreedom: number) => number
    }
  }
  // biome-ignore lint/style/noDefaultExport: that is the package's form
  export default jstat
}
