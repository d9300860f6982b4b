import { expect, it } from 'vitest'
import { readInputs } from './inputs.ts'
import { hashedArgv } from './launch.ts'
import { readSuite } from './suite.ts'

function suite(text: string, raw: Readonly<Record<string, string>> = {}) {
  const inputs = readInputs({ suite: 'bench.yml', ...raw })
  if (inputs.kind === 'bad') throw new Error(JSON.stringify(inputs.issues))
  return readSuite(text, 'bench.yml', inputs.inputs)
}

function definitions(text: string, raw?: Readonly<Record<string, string>>) {
  const read = suite(text, raw)
  if (read.kind === 'bad') throw new Error(JSON.stringify(read.issues))
  return read.definitions
}

function issues(text: string): readonly string[] {
  const read = suite(text)
  return read.kind === 'bad' ? read.issues.map(({ where, message }) => `${where} ${message}`) : []
}

it('reads the suite of the documentation, defaults and inputs filled in', () => {
  const text = `
benchmarks:
  - name: qwen-lora-bf16
    workload: workloads/train.py
    config: { model_name: m, precision: bf16 }
    files: [src/**/*.py]
    metrics:
      tokens_per_sec: { better: higher, min-effect: 3%, gate: true }
      hbm_peak_gb: { min-effect: 0.01, gate: false }
  - workload: bench/gemm.py
    config: bench/gemm.yml
    steps: 20
defaults: { steps: 30, min-effect: 5%, setup: pip install -e . }
`
  const [first, second] = definitions(text, { 'warmup-steps': '4' })
  expect(first).toMatchObject({
    name: 'qwen-lora-bf16',
    steps: 30,
    warmupSteps: 4,
    minEffect: 0.05,
    setup: ['pip', 'install', '-e', '.'],
    files: ['src/**/*.py'],
    metrics: {
      tokens_per_sec: { better: 'higher', minEffect: 0.03, gate: true },
      hbm_peak_gb: { minEffect: 0.01, gate: false },
    },
  })
  expect(second).toMatchObject({
    name: 'gemm',
    steps: 20,
    config: { kind: 'file', path: 'bench/gemm.yml' },
  })
})

it('joins config and metrics with the defaults, name by name', () => {
  const [only] = definitions(
    'benchmarks: [{workload: a.py, config: {batch_size: 2}, metrics: {x: {gate: true}}}]\n' +
      'defaults: {config: {model_name: m, batch_size: 1}, metrics: {y: {gate: true}}}\n',
  )
  expect(only?.config).toEqual({ kind: 'inline', text: '{"model_name":"m","batch_size":2}' })
  expect(Object.keys(only?.metrics ?? {})).toEqual(['y', 'x'])
})

it.each([
  ['launcher: torchrun --nproc-per-node=2', ['torchrun', '--nproc-per-node=2', 'a.py']],
  ['launcher: [srun, -n, "2", "a b"]', ['srun', '-n', '2', 'a b', 'a.py']],
  ['command: [hyperfine, "./a b"]', ['hyperfine', './a b']],
  [
    'launcher: {docker: "rocm/pytorch:7.0", options: [--shm-size=8g], launcher: python3 -u}',
    ['docker', 'run', '--shm-size=8g', 'rocm/pytorch:7.0', 'python3', '-u', 'a.py'],
  ],
  ['launcher: {podman: img}', ['podman', 'run', 'img', 'python3', 'a.py']],
])('%s is hashed as argv', (line, argv) => {
  const [only] = definitions(`benchmarks:\n  - workload: a.py\n    ${line}\n`)
  expect(only && hashedArgv(only)).toEqual(argv)
})

it.each([
  ['benchmarks: []', /benchmarks/],
  ['{}', /benchmarks is missing/],
  ['benchmarks: [{name: a}]', /names neither a `workload` nor a `command`/],
  ['benchmarks: [{name: a, command: ./run}]', /\.files is required for a `command` without a `workload`/],
  ['benchmarks: [{command: ./run, files: [a]}]', /\.name is required/],
  ['benchmarks: [{workload: a.py}, {workload: b/a.py}]', /\[1\]\.name `a` names two benchmarks/],
  ['benchmarks: [{workload: a.py, step: 20}]', /\[0\]\.step is no field of a suite/],
  ['benchmarks: [{workload: a.py, steps: 5}]', /\[0\]\.steps `5`/],
  ['benchmarks: [{workload: ../a.py}]', /leaves the repository/],
  ['benchmarks: [{workload: a.py, config: /etc/passwd}]', /absolute path/],
  ['benchmarks: [{workload: a.py, command: [x], launcher: y}]', /\.launcher is given beside `command`/],
  ['benchmarks: [{workload: a.py, metrics: {x: {better: up}}}]', /is none of higher, lower/],
  ['benchmarks: [{workload: a.py, metrics: {"a`b": {}}}]', /is no name of a metric/],
  ['benchmarks: [{workload: a.py, min-effect: 90%}]', /no share from 0.1% to 50%/],
  ['benchmarks: [{workload: a.py, launcher: {docker: "-v/:/h"}}]', /launcher/],
  ['benchmarks: [{name: a, files: [b], command: " "}]', /command/],
  ['- a', /bench\.yml/],
  ['a: [', /bench\.yml/],
])('%s is refused with its place', (text, said) => {
  expect(issues(text).join('\n')).toMatch(said)
})

it('says every fault at once, and the nearest name', () => {
  const read = suite('benchmarks: [{workload: a.py, confg: {}}, {nam: b}]')
  expect(read.kind === 'bad' && read.issues.map(({ hint }) => hint)).toEqual([
    'did you mean `config`?',
    'did you mean `name`?',
  ])
})
