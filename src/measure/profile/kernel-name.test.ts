import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isCommunication, isRuntimeCopy, MAX_KERNEL_NAME, normalKernelName } from './kernel-name.ts'

describe('a normalised name', () => {
  it.each([
    ['void addition_kernel<float>(float*, float const*, int)', 'addition_kernel<float>'],
    ['NormKernel2(int, double const*, double*)', 'NormKernel2'],
    ['vecCopy(double*, double*, double*, int, int) (.kd)', 'vecCopy'],
    ['__amd_rocclr_copyBuffer.kd', '__amd_rocclr_copyBuffer'],
    ['attn_fwd', 'attn_fwd'],
    [
      'void at::native::(anonymous namespace)::max_pool_forward_nchw<c10::BFloat16>(int, c10::BFloat16 const*)',
      'at::native::{anonymous}::max_pool_forward_nchw<c10::BFloat16>',
    ],
    [
      'void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)',
      'at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>>',
    ],
    ['void f<(lambda(int)#1), g<2> >(int) [clone .kd]', 'f<(lambda(int)#1), g<2>>'],
    ['triton_poi_fused__unsafe_view_mul_silu_2', 'triton_poi_fused__unsafe_view_mul_silu'],
    [
      'Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x32x256_MI16x16x1_SN_LDSB1_AFC1',
      'Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x32x256_MI16x16x1',
    ],
    [
      '_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_4aaaaE',
      'ck_tile::kentry<Rmsnorm2dFwd, Rmsnorm2dFwdPipelineOnePass>',
    ],
    ['kernel_at_0x7f0d61a43240', 'kernel_at_0x7f0d61a43240'],
    ['jit 0x7f0d61a43240 body', 'jit 0x… body'],
    ['', '(no name)'],
    ['f<<<<', 'f<<<<>'],
    ['_Z', '_Z'],
  ])('%s', (raw, name) => {
    expect(normalKernelName(raw)).toBe(name)
  })

  it('of two launches of a stored graph is one, and of two instances two', () => {
    expect(normalKernelName('void k<int>(int, 0x1)')).toBe(normalKernelName('void k<int>(int, 0x2)'))
    expect(normalKernelName('void k<int>()')).not.toBe(normalKernelName('void k<float>()'))
  })

  it('of any text is short, not empty, and the same when normalised in a second process', () => {
    const text = fc.string({
      unit: fc.constantFrom('<', '>', '(', ')', '_Z', 'N', '1', '9', 'a', ' ', '::', 'Cijk_', '.kd'),
      maxLength: 400,
    })
    fc.assert(
      fc.property(fc.oneof(text, fc.string()), (raw) => {
        const name = normalKernelName(raw)
        expect(name.length).toBeGreaterThan(0)
        expect(name.length).toBeLessThanOrEqual(MAX_KERNEL_NAME)
        expect(normalKernelName(raw)).toBe(name)
      }),
      { seed: 5, numRuns: 5000 },
    )
  })

  it.each(['<', '(', '_ZN9', 'a<b(', 'triton_poi_fused_', 'Cijk_a_MT', '[clone ', '0x'])(
    'of eight thousand times %s is made at once',
    (part) => {
      expect(normalKernelName(part.repeat(8000)).length).toBeLessThanOrEqual(MAX_KERNEL_NAME)
    },
  )
})

it.each([
  ['ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)', true],
  ['ncclKernel_AllReduce_RING_LL_Sum_float', true],
  ['void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage)', true],
  ['void vllm::cross_device_reduce_2stage<__hip_bfloat16, 8>(vllm::RankData*)', true],
  ['triton_poi_fused_all_gather_into_tensor_0', false],
  ['attn_fwd', false],
])('%s communicates: %s', (name, communicates) => {
  expect(isCommunication(name)).toBe(communicates)
})

it("knows ROCm's own copies", () => {
  expect(isRuntimeCopy('__amd_rocclr_fillBufferAligned')).toBe(true)
  expect(isRuntimeCopy('void copy_kernel<int>()')).toBe(false)
})
