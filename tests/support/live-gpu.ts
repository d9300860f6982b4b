/** An AMD GPU made of files, which workloads bring to life by what they write: for stories on a device. */

import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

export type LiveGpu = {
  /** Stands for `/` of the host: hand it over as `ROCM_BENCH_HOST_ROOT`. */
  readonly root: string
  /** Folder of the card's sensors, with the names of sysfs. */
  readonly card: string
  /** Writes files below the root. */
  readonly put: (files: Readonly<Record<string, string | number | Uint8Array>>) => Promise<void>
  /** A process with memory on the card, as the kernel lists it; 0 bytes takes it away. */
  readonly use: (pid: number, bytes: number) => Promise<void>
  readonly dispose: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

const ADDRESS = '0000:05:00.0'
const GPU_ID = 51_110

/** One idle MI300X, told by the kernel alone: no tool is there. */
export const createLiveGpu = async (): Promise<LiveGpu> => {
  const root = await mkdtemp(path.join(tmpdir(), 'live-gpu-'))
  const device = 'sys/class/drm/card1/device'
  const put: LiveGpu['put'] = async (files) => {
    for (const [name, content] of Object.entries(files)) {
      const file = path.join(root, name)
      await mkdir(path.dirname(file), { recursive: true })
      await writeFile(file, content instanceof Uint8Array ? content : `${content}\n`)
    }
  }
  const sensors = (folder: string) => ({
    [`${folder}/vendor`]: '0x1002',
    [`${folder}/device`]: '0x74a1',
    [`${folder}/uevent`]: `DRIVER=amdgpu\nPCI_ID=1002:74A1\nPCI_SLOT_NAME=${ADDRESS}`,
    [`${folder}/unique_id`]: 'c586d6b7a3f7a8a5',
    [`${folder}/gpu_busy_percent`]: 0,
    [`${folder}/mem_info_vram_total`]: 206_141_652_992,
    [`${folder}/mem_info_vram_used`]: 300_000_000,
    [`${folder}/mem_info_gtt_used`]: 10_000_000,
    [`${folder}/power_dpm_force_performance_level`]: 'auto',
    [`${folder}/current_compute_partition`]: 'SPX',
    [`${folder}/current_memory_partition`]: 'NPS1',
    [`${folder}/hwmon/hwmon3/power1_input`]: 140_000_000,
    [`${folder}/hwmon/hwmon3/power1_cap`]: 750_000_000,
    [`${folder}/hwmon/hwmon3/freq1_label`]: 'sclk',
    [`${folder}/hwmon/hwmon3/freq1_input`]: 132_000_000,
    [`${folder}/hwmon/hwmon3/temp2_label`]: 'junction',
    [`${folder}/hwmon/hwmon3/temp2_input`]: 41_000,
  })
  const topology = 'sys/class/kfd/kfd/topology/nodes'
  await put({
    ...sensors(device),
    'dev/kfd': '',
    'dev/dri/renderD128': '',
    'proc/cpuinfo': await readFile(new URL('../fixtures/amd/cpu/cpuinfo_x86.txt', import.meta.url), 'utf8'),
    'proc/sys/kernel/numa_balancing': 0,
    'sys/module/amdgpu/version': '6.16.6',
    'opt/rocm/.info/version': '7.0.2-56',
    [`${topology}/0/properties`]: 'cpu_cores_count 96\nsimd_count 0',
    [`${topology}/0/gpu_id`]: 0,
    [`${topology}/1/properties`]:
      'simd_count 1216\nsimd_per_cu 4\nnum_xcc 8\ngfx_target_version 90402\ndevice_id 29857\nlocation_id 1280\ndomain 0\ndrm_render_minor 128\nunique_id 14233299756569307301\nmax_engine_clk_fcompute 2100',
    [`${topology}/1/mem_banks/0/properties`]: 'heap_type 1\nsize_in_bytes 206141652992',
    [`${topology}/1/gpu_id`]: GPU_ID,
  })
  // As on a real host, where both names lead to the device's one folder.
  await mkdir(path.join(root, 'sys/class/drm/renderD128'), { recursive: true })
  await symlink('../card1/device', path.join(root, 'sys/class/drm/renderD128/device'))
  const dispose = () => rm(root, { recursive: true, force: true })
  return {
    root,
    card: path.join(root, device),
    put,
    use: async (pid, bytes) => {
      const folder = `sys/class/kfd/kfd/proc/${pid}`
      if (bytes === 0) await rm(path.join(root, folder), { recursive: true, force: true })
      else await put({ [`${folder}/vram_${GPU_ID}`]: bytes })
    },
    dispose,
    [Symbol.asyncDispose]: dispose,
  }
}

/**
 * A workload of ten steps of 0.35 s that brings the card in FAKE_CARD to life while it runs: memory, power, clock
 * and the busy flag rise, and it is listed among the kernel's compute processes. `extras.act` leaves signs out
 * (`cpu`: computes elsewhere with a context open), adds some (`leak`: gives no memory back) or slows down
 * (`slowclock`: as many cycles at a lower clock).
 */
export const GPU_WORKLOAD = `import json
import os
import shutil
import time

from bench_protocol import Bench, load_config

act = load_config()["extras"].get("act", "")
card = os.environ["FAKE_CARD"]
users = os.path.join(card, "../../../kfd/kfd/proc", str(os.getpid()))


def put(**values):
    for name, value in values.items():
        folder = card if name.startswith(("gpu", "mem")) else os.path.join(card, "hwmon/hwmon3")
        # A card may lack the sensor.
        if os.path.exists(os.path.join(folder, name)):
            with open(os.path.join(folder, name), "w") as file:
                file.write(f"{value}\\n")


idle = dict(gpu_busy_percent=0, mem_info_vram_used=300000000, power1_input=140000000, freq1_input=132000000)
busy = dict(gpu_busy_percent=97, mem_info_vram_used=60300000000, power1_input=690000000, freq1_input=2050000000)
if act == "slowclock":
    busy.update(freq1_input=1435000000)
if act == "cpu":
    busy.update(power1_input=141000000, freq1_input=132000000)
os.makedirs(users, exist_ok=True)
with open(os.path.join(users, "vram_51110"), "w") as file:
    file.write("60000000000\\n")
time.sleep(1.2)
with Bench(framework="torch 2.9.1+rocm7.0") as bench:
    put(**busy)
    for step in bench.steps():
        time.sleep(0.5 if act == "slowclock" else 0.35)
        step.tokens(1000)
if act != "leak":
    put(**idle)
    shutil.rmtree(users)
`
