/** What the kernel's and the engine's files tell of the container that a job runs in; opens no file. */

/** `sha256:<64 hex>` in a text, as an engine or a registry writes it; undefined when there is none. */
export function imageDigestOf(text: string | undefined): string | undefined {
  const digest = /(?:^|@|\s|")(?:sha256:)?([0-9a-f]{64})(?=$|\s|")/.exec(text?.trim() ?? '')?.[1]
  return digest === undefined ? undefined : `sha256:${digest}`
}

/** `imageid` of podman's `/run/.containerenv`; the file is empty where the container may not know. */
export function podmanImageOf(containerenv: string | undefined): string | undefined {
  return imageDigestOf(/^imageid="([0-9a-f]{64})"$/m.exec(containerenv ?? '')?.[1])
}

/** The id of this Docker container, from the mounts that the engine made for it (`/proc/self/mountinfo`). */
export function dockerContainerOf(mountinfo: string | undefined): string | undefined {
  return /\/containers\/([0-9a-f]{64})\/(?:resolv\.conf|hostname|hosts)\b/.exec(mountinfo ?? '')?.[1]
}
