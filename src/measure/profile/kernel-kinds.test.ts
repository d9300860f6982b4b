import { describe, expect, it } from 'vitest'
import { profileText, readTorch } from '../../../tests/support/profile-files.ts'
import { attentionKernel, isMatrixKernel, percentText, precisionOf, precisionPath } from './kernel-kinds.ts'

const one = (name: string) => attentionKernel([{ name, ns: 1 }])?.split(':')[0]

const kernelsOf = (name: string) =>
  readTorch(profileText(`torch-profiler/${name}.json.gz`)).spans.flatMap((span) =>
    span.kind === 'kernel' ? [{ name: span.name, ns: span.duration }] : [],
  )

describe('the attention kernel', () => {
  it.each([
    ['gpu-only_mi210', undefined],
    ['torch-compile_triton_mi300x', 'triton: attn_fwd'],
    ['vllm_decode_mi300x', 'triton: kernel_unified_attention_3d'],
  ])('of the recorded %s', (name, found) => {
    const byName = [...Map.groupBy(kernelsOf(name), (kernel) => kernel.name)].map(([kernel, all]) => ({
      name: kernel,
      ns: all.reduce((sum, { ns }) => sum + ns, 0),
    }))
    expect(attentionKernel(byName)).toBe(found)
  })

  it.each([
    ['_ZN7ck_tile6kentryILi2ENS_13FmhaFwdKernelINS_4aaaaE', 'ck_tile'],
    ['void ck_tile::kentry<256, 2, ck_tile::FmhaBwdDQDKDVKernel<int>>(int)', 'ck_tile'],
    ['_ZN5aiter34fmha_fwd_hd128_bf16_causal_rtne_groupE', 'aiter'],
    ['fmha_bwd_hd128_bf16_a32_psskddv.kd', 'aiter'],
    ['void aiter::mla_decode_fwd_kernel<bf16>(int)', 'aiter'],
    ['void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128>>(Flash_fwd_params)', 'flash'],
    ['void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<int>(int)', 'flash'],
    ['void cutlass::device_kernel<flash::FlashAttnFwdSm90<int>>(int)', 'flash'],
    ['fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::Params)', 'mem-efficient'],
    ['cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16', 'cudnn'],
    ['void paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16>(int)', 'paged'],
    ['_attn_fwd', 'triton'],
    ['bwd_kernel_dk_dv', 'triton'],
    ['_fwd_grouped_kernel_stage1', 'triton'],
    [
      'void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false, false>(float*)',
      'math',
    ],
    [
      'void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, at::native::SoftMaxForwardEpilogue>(int)',
      'math',
    ],
    [
      'void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, true, false>(float*)',
      undefined,
    ],
    ['void at::native::cunn_SoftMaxForward<4, float, at::native::LogSoftMaxForwardEpilogue>(int)', undefined],
    ['void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16>(int)', undefined],
    ['ck_tile::kentry<Rmsnorm2dFwd>', undefined],
    ['Cijk_Ailk_Bljk_BBS_BH_MT16x64x64_MI16x16x1', undefined],
  ])('%s is of %s', (name, family) => {
    expect(one(name)).toBe(family)
  })

  it('is a fused one although a softmax took longer', () => {
    const softmax = 'void softmax_warp_forward<float, float, float, 8, false, false>(float*)'
    expect(
      attentionKernel([
        { name: softmax, ns: 9 },
        { name: 'attn_fwd', ns: 1 },
      ]),
    ).toBe('triton: attn_fwd')
  })
})

describe('the precision of matrix kernels', () => {
  it.each([
    ['Cijk_Alik_Bljk_BBS_BH_Bias_MT32x32x256_MI16x16x1', 'bf16'],
    ['Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8', 'fp16'],
    ['Cijk_Ailk_Bljk_HB_MT64x64x16', 'fp16'],
    ['Cijk_Ailk_Bjlk_SB_MT128x64x16_MI32x32x1', 'fp32'],
    ['Cijk_Alik_Bljk_F8BS_BH_Bias_MT256x256x128', 'fp8'],
    ['Cijk_Alik_Bljk_B8F8S_BH_MT256x256x128', 'fp8'],
    ['Cijk_Ailk_Bljk_DB_MT32x32x16', 'fp64'],
    ['Cijk_Alik_Bljk_I8II_BH_MT32x32x16', 'int8'],
    ['igemm_fwd_gtcx2_nhwc_bf16_bx0_ex1', 'bf16'],
    ['igemm_bwd_gtcx2_nhwc_fp16_bx0_ex1', 'fp16'],
    ['ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn', 'bf16'],
    ['ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_nn', 'fp16'],
    ['ampere_sgemm_128x64_tn', 'fp32'],
    ['sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64', 'bf16'],
    ['nvjet_hsh_128x256_64x4_2x1_v_bz_TNT', 'fp16'],
    ['nvjet_tst_128x256_64x4_2x1_v_bz_TNT', 'bf16'],
    ['_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1', 'fp4'],
    ['attn_fwd', undefined],
  ])('%s is %s', (name, precision) => {
    expect(isMatrixKernel(name)).toBe(true)
    expect(precisionOf(name)).toBe(precision)
  })

  it.each([
    'batched_transpose_64x64_pack_4x4_half',
    'triton_poi_fused_add_0',
    'ncclDevKernel_Generic_1(int)',
  ])('%s is none', (name) => expect(isMatrixKernel(name)).toBe(false))

  /** 8029.618 of 11713.123 µs are Cijk_…BBS, the rest is attn_fwd, whose name tells no type. */
  it('of a recorded trace', () => {
    expect(precisionPath(kernelsOf('torch-compile_triton_mi300x'))).toBe('bf16 69 %, unknown 31 %')
    expect(precisionPath([{ name: 'relu', ns: 5 }])).toBeUndefined()
  })
})

it.each([
  [0, '0 %'],
  [0.0004, 'under 0.1 %'],
  [0.004, '0.4 %'],
  [0.344, '34 %'],
  [1.0000001, '100 %'],
])('%d is written %s', (share, text) => expect(percentText(share)).toBe(text))
