/** What a kernel's name tells of its work: attention, matrix product, data type. Patterns are in docs/profiling.md. */

import { isCommunication, isRuntimeCopy, normalKernelName } from './kernel-name.ts'

/** Time that a kernel took in all. */
export type KernelTime = { readonly name: string; readonly ns: number }

/** Patterns are looked for in the begin of a name, where it says what the kernel is. */
const MAX_READ = 1024

type Family = { readonly family: string; readonly pattern: RegExp }

/** In this order: the first that fits counts. `fmha` alone is ck_tile's, so its namesakes come before. */
const ATTENTION: readonly Family[] = [
  {
    family: 'aiter',
    pattern: /aiter.{0,80}(fmha|attn|attention|mla|pa_)|^(_ZN5aiter\d+)?fmha_(fwd|bwd)_hd\d/i,
  },
  { family: 'mem-efficient', pattern: /fmha_cutlass|PyTorchMemEffAttention/ },
  { family: 'cudnn', pattern: /cudnn\w*_sdpa_|cudnn.*flash/i },
  {
    family: 'flash',
    pattern: /flash_(fwd|bwd)\w*_kernel|FlashAttn(Fwd|Bwd)|flash::|compute_attn_1rowblock|flashinfer::/,
  },
  { family: 'ck_tile', pattern: /Fmha(Fwd|Bwd)|ck_tile.{0,80}fmha/i },
  { family: 'ck', pattern: /batched_gemm_softmax_gemm|BatchedMultiheadAttention|grouped_gemm_softmax_gemm/i },
  { family: 'paged', pattern: /paged_attention/ },
  {
    family: 'triton',
    pattern:
      /^_?(attn|attention)_(fwd|bwd)|^_?bwd_kernel_(dk_dv|dq|fuse)|^_(fwd|bwd)_(kernel|inner|preprocess)|^_?kernel_(unified_)?attention|^kernel_paged_attention|^_?(mla_)?(fwd|decode)_(grouped_)?kernel_stage\d|flash_attention|triton_tem_fused.*attention/,
  },
]

/** A softmax that is no log-softmax: it runs as a kernel of its own where no fused attention takes it in. */
const MATH =
  /softmax_warp_forward<(?:[^,<>]+(?:<[^<>]*>)?, ){4}false|SoftMaxForward(?!Epilogue)|[^g]SoftMaxForwardEpilogue/

/**
 * `family: kernel` of the attention kernel that took most time, `math: …` when none was fused and a softmax ran
 * by itself; undefined when nothing of that kind ran.
 */
export function attentionKernel(kernels: readonly KernelTime[]): string | undefined {
  const byTime = kernels.toSorted((a, b) => b.ns - a.ns)
  for (const { name } of byTime) {
    const family = attentionFamily(name)
    if (family !== undefined) return `${family}: ${normalKernelName(name)}`
  }
  const softmax = byTime.find(({ name }) => isPlainSoftmax(name))
  return softmax && `math: ${normalKernelName(softmax.name)}`
}

function isPlainSoftmax(raw: string): boolean {
  const name = raw.slice(0, MAX_READ)
  return !/log_?softmax|LogSoftMax/i.test(name) && MATH.test(name)
}

function attentionFamily(raw: string): string | undefined {
  const name = raw.slice(0, MAX_READ)
  // These fill the cache of keys and values beside a flash kernel.
  if (/reshape_and_cache/.test(name)) return undefined
  return ATTENTION.find(({ pattern }) => pattern.test(name))?.family
}

const GEMM =
  /^Cijk_|gemm|^igemm_|matmul|_mm_|^nvjet_|wvSplitK|LLMM1|MIOpenConv|implicit_?gemm|naive_conv|xdlops|\bconv\w*_(fwd|bwd|wrw)/i

/** Letters of a Tensile problem: what the operands are. `BBS`: in bf16, out bf16, computed in fp32. */
const TENSILE: readonly (readonly [RegExp, string])[] = [
  [/^(F8|B8)/, 'fp8'],
  [/^(F6|B6|F4)/, 'fp4/fp6'],
  [/^(B(?!8|6)[A-Z]|B$)/, 'bf16'],
  [/^H/, 'fp16'],
  [/^(I8|4xi8)/, 'int8'],
  [/^(S|X)/, 'fp32'],
  [/^(D|Z)/, 'fp64'],
]

const TOKENS: readonly (readonly [RegExp, string])[] = [
  [/mxfp4|mxf4|fp4(?!\d)|float4_e2m1/i, 'fp4'],
  [/fp8|f8e4m3|f8e5m2|e4m3|e5m2|float8|_qqtst_|Float8/i, 'fp8'],
  [/bf16|bfloat16|BFloat16|DF16b|nvjet_t/, 'bf16'],
  [
    /fp16|__half|c10::Half|_half\b|_f16|f16_|hgemm|[^b]f16f16|half_t|DF16_|_Float16|nvjet_h|s16816gemm_fp16|h16816gemm/i,
    'fp16',
  ],
  [/i8gemm|int8|igemm_int8|i8i8/i, 'int8'],
  [/sgemm|fp32|_f32|f32f32|<float[,>]|nvjet_s/i, 'fp32'],
  [/dgemm|fp64|<double[,>]/i, 'fp64'],
]

/** The data type that a matrix product or attention kernel names; undefined when it names none, or is neither. */
export function precisionOf(name: string): string | undefined {
  const tensile = /^Cijk_[A-Z][a-z]+_[A-Z][a-z]+_([A-Z0-9a-z]+)/.exec(name)?.[1]
  const rules = tensile === undefined ? TOKENS : TENSILE
  return rules.find(([pattern]) => pattern.test(tensile ?? name))?.[1]
}

/** Whether a kernel is a matrix product, a convolution or attention: where the precision decides the speed. */
export function isMatrixKernel(name: string): boolean {
  if (
    isRuntimeCopy(name) ||
    isCommunication(name) ||
    /splitk_?reduce|batched_transpose|reshape_and_cache|finalize_matmul/i.test(name)
  )
    return false
  return GEMM.test(name) || attentionFamily(name) !== undefined
}

/**
 * Shares of the matrix kernels' time by data type, most first: `bf16 97 %, unknown 3 %`; undefined when there was
 * no such kernel.
 */
export function precisionPath(kernels: readonly KernelTime[]): string | undefined {
  const matrix = kernels.filter(({ name, ns }) => ns > 0 && isMatrixKernel(name))
  const total = matrix.reduce((sum, { ns }) => sum + ns, 0)
  if (total <= 0) return undefined
  const shares = [...Map.groupBy(matrix, ({ name }) => precisionOf(name) ?? 'unknown')]
    .map(([type, of]) => ({ type, share: of.reduce((sum, { ns }) => sum + ns, 0) / total }))
    .sort((a, b) => b.share - a.share)
  return shares.map(({ type, share }) => `${type} ${percentText(share)}`).join(', ')
}

/** `34 %`, `0.3 %`, `under 0.1 %` of a fraction from 0 to 1. */
export function percentText(share: number): string {
  const percent = Math.min(100, share * 100)
  if (percent > 0 && percent < 0.1) return 'under 0.1 %'
  return `${percent > 0 && percent < 1 ? percent.toFixed(1) : Math.round(percent)} %`
}
