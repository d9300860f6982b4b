/** A kernel's name as compilers and profilers write it → one that stays the same from build to build. */

/** Names are cut to this for people and for the cache. */
export const MAX_KERNEL_NAME = 160

/** What makes a name known stands in front; and patterns take longer than linear time. */
const MAX_READ = 1024

/** Template arguments are cut to this, so that one name does not fill a report. */
const MAX_ARGUMENTS = 72

/** ROCm's own copies and fills, which run as kernels without being the workload's. */
export function isRuntimeCopy(name: string): boolean {
  return /^__amd_rocclr_/.test(name)
}

/** Kernels of NCCL, RCCL and the custom all-reduce of vLLM, SGLang and aiter. */
export function isCommunication(name: string): boolean {
  return /(^|[^a-z])(nccl|rccl)[A-Z_]|cross_device_reduce|(^|[^a-z])allreduce_fusion/.test(name)
}

/**
 * The name by which a kernel is found again in another build: without return type, parameter list, clone marks,
 * addresses, the running number of a compiled graph and the tuning part of a Tensile solution; template arguments
 * shortened. Two kernels can get one name; their times are then added.
 */
export function normalKernelName(raw: string): string {
  const name = raw
    .slice(0, MAX_READ)
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/(\s*\[clone [^\]]*\])+$|\s*\(?\.kd\)?$/g, '')
    .replaceAll('(anonymous namespace)', '{anonymous}')
    .replaceAll(/\b0x[0-9a-f]+\b/gi, '0x…')
  const shown = name.startsWith('_Z') ? demangled(name) : readable(name)
  const short = shown
    // Tensile: what follows tile and instruction is how the solution was tuned.
    .replace(/^(Cijk_\w+?_MT\d+x\d+x\d+(?:_MI\d+x\d+x\d+)?)(_\w*)?$/, '$1')
    // The number of a kernel within one compiled graph moves when another kernel is fused.
    .replace(/^(triton_(?:poi|red|per|tem|for|split)\w*?_fused\w*?)_\d+$/, '$1')
  const fallback = short === '' ? '(no name)' : short
  return fallback.length > MAX_KERNEL_NAME ? `${fallback.slice(0, MAX_KERNEL_NAME - 1)}…` : fallback
}

/** Without `void` and the parameter list, with short template arguments. */
function readable(name: string): string {
  const bare = name.replace(/^(?:void|unsigned int|int|float)\s+(?=[\w:{])/, '')
  const open = bare.search(/[<(]/)
  if (open <= 0) return bare
  if (bare[open] === '(') return bare.slice(0, open)
  const end = closingAngle(bare, open)
  if (end < 0) return `${bare.slice(0, open)}<${shortened(bare.slice(open + 1))}>`
  const rest = bare.slice(end + 1)
  // A member after the template arguments, as in `Kernel<int>::run(float*)`.
  const member = /^::[\w:~]+/.exec(rest)?.[0] ?? ''
  return `${bare.slice(0, open)}<${shortened(bare.slice(open + 1, end))}>${member}`
}

function shortened(text: string): string {
  const tidy = text.trim().replaceAll(/\s+/g, ' ').replaceAll(' >', '>')
  return tidy.length > MAX_ARGUMENTS ? `${tidy.slice(0, MAX_ARGUMENTS - 1)}…` : tidy
}

/** Where the angle bracket at `open` is closed; -1 when it is not. `operator()<` and `->` are no brackets. */
function closingAngle(text: string, open: number): number {
  let depth = 0
  let round = 0
  for (let at = open; at < text.length; at += 1) {
    const character = text[at]
    if (character === '(') round += 1
    else if (character === ')') round -= 1
    else if (round > 0) continue
    else if (character === '<') depth += 1
    else if (character === '>' && text[at - 1] !== '-') {
      depth -= 1
      if (depth === 0) return at
    }
  }
  return -1
}

/** The names inside an Itanium-mangled one: enough to know the kernel by, no demangler. */
function demangled(name: string): string {
  const { names, rest } = sourceNames(name, /^_ZN?K?(?:\d*St)?/.exec(name)?.[0].length ?? 2)
  if (names.length === 0) return name
  // Of the template arguments the first two classes tell most.
  const inner: string[] = []
  for (let at = name.length - rest.length; at < name.length && inner.length < 2; at += 1) {
    if (!/[1-9]/.test(name[at] ?? '') || /\d/.test(name[at - 1] ?? '')) continue
    const found = sourceNames(name, at).names.at(-1)
    if (found !== undefined && /^[A-Z]\w{3,}/.test(found)) inner.push(found)
  }
  const unique = [...new Set(inner)].filter((found) => !names.includes(found))
  const base = names.join('::')
  return unique.length > 0 ? `${base}<${shortened(unique.join(', '))}>` : base
}

/** Names with their length in front, one after the other. */
function sourceNames(
  text: string,
  start: number,
): { readonly names: readonly string[]; readonly rest: string } {
  const names: string[] = []
  let at = start
  for (;;) {
    const digits = /^[1-9]\d{0,2}/.exec(text.slice(at, at + 3))?.[0]
    if (digits === undefined) break
    const found = text.slice(at + digits.length, at + digits.length + Number(digits))
    if (found.length < Number(digits) || !/^[A-Za-z_]\w*$/.test(found)) break
    names.push(found)
    at += digits.length + found.length
  }
  return { names, rest: text.slice(at) }
}
