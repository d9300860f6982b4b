/** Peak rates of GPUs as their makers publish them: dense, with the matrix units; knows no measurement. */

export type Precision = 'fp32' | 'fp16' | 'bf16' | 'fp8'

type Peak = {
  readonly product: RegExp
  /** TFLOP/s of one GPU as HIP or CUDA counts them. */
  readonly tflops: Readonly<Partial<Record<Precision, number>>>
}

/**
 * AMD: product pages and data sheets of each Instinct accelerator, "peak … matrix" without sparsity; fp32 is FP32
 * matrix. An MI250X is two GPUs, each of half the package. NVIDIA: data sheets of A100, H100 and H200, tensor core
 * rates halved where the sheet gives them with sparsity; fp32 is the non-tensor rate that PyTorch uses unless
 * TF32 is allowed. MI308X has no public sheet, so it is not here. docs/profiling.md repeats the table.
 */
const PEAKS: readonly Peak[] = [
  { product: /\bMI210\b/i, tflops: { fp16: 181, bf16: 181, fp32: 45.3 } },
  // `MI250X/MI250` is the name of either.
  { product: /\bMI250X\b(?!\s*\/)/i, tflops: { fp16: 191.5, bf16: 191.5, fp32: 47.9 } },
  { product: /\bMI300A\b/i, tflops: { fp16: 980.6, bf16: 980.6, fp8: 1961.2, fp32: 122.6 } },
  { product: /\bMI3(?:00|25)X\b/i, tflops: { fp16: 1307.4, bf16: 1307.4, fp8: 2614.9, fp32: 163.4 } },
  { product: /\bMI350X\b/i, tflops: { fp16: 2306.9, bf16: 2306.9, fp8: 4613.7, fp32: 144.2 } },
  { product: /\bMI355X\b/i, tflops: { fp16: 2516.6, bf16: 2516.6, fp8: 5033.2, fp32: 157.3 } },
  { product: /\bA100\b/i, tflops: { fp16: 312, bf16: 312, fp32: 19.5 } },
  { product: /\bH100 PCIe\b/i, tflops: { fp16: 756, bf16: 756, fp8: 1513, fp32: 51 } },
  { product: /\bH[12]00 NVL\b/i, tflops: { fp16: 835.5, bf16: 835.5, fp8: 1671, fp32: 60 } },
  { product: /\bH100\b.*\bHBM3\b|\bH100 SXM/i, tflops: { fp16: 989.5, bf16: 989.5, fp8: 1979, fp32: 67 } },
  { product: /\bH200\b/i, tflops: { fp16: 989.5, bf16: 989.5, fp8: 1979, fp32: 67 } },
]

/** PCI ids that stand in for a product's name; virtual functions included. */
const DEVICE_IDS: Readonly<Record<string, string>> = {
  '0x74a0': 'MI300A',
  '0x74a1': 'MI300X',
  '0x74b5': 'MI300X',
  '0x74a5': 'MI325X',
  '0x74b9': 'MI325X',
  '0x75a0': 'MI350X',
  '0x740f': 'MI210',
}

/** FLOP/s of one whole GPU; undefined for a product or a precision without a published rate. */
export function peakFlops(product: string, precision: string): number | undefined {
  const id = /\b0x[0-9a-f]{4}\b/i.exec(product)?.[0].toLowerCase()
  const name = (id && DEVICE_IDS[id]) ?? product
  const tflops = PEAKS.find((peak) => peak.product.test(name))?.tflops
  const rate = isPrecision(precision) ? tflops?.[precision] : undefined
  return rate === undefined ? undefined : rate * 1e12
}

function isPrecision(text: string): text is Precision {
  return text === 'fp32' || text === 'fp16' || text === 'bf16' || text === 'fp8'
}
