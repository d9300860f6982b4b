/** The functions of jstat that are used; the package carries no types. */
declare module 'jstat' {
  const jstat: {
    readonly studentt: {
      /** Quantile of Student's t distribution. */
      readonly inv: (probability: number, degreesOfFreedom: number) => number
      /** Distribution function of Student's t. */
      readonly cdf: (t: number, degreesOfFreedom: number) => number
    }
    readonly centralF: {
      /** Distribution function of Fisher's F. */
      readonly cdf: (f: number, numerator: number, denominator: number) => number
    }
  }
  // biome-ignore lint/style/noDefaultExport: that is the package's form
  export default jstat
}
