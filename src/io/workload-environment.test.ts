import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { ALLOWED_VARIABLES, workloadEnvironment } from './workload-environment.ts'

const recorded = path.join(import.meta.dirname, '../../tests/fixtures/allowed-env.txt')

it('is the list that was recorded: a change of it changes numbers and bumps KEY_VERSION', () => {
  expect(`${ALLOWED_VARIABLES.join('\n')}\n`).toBe(readFileSync(recorded, 'utf8'))
})

it('passes what a workload needs', () => {
  const host = { PATH: '/bin', HOME: '/root', HSA_XNACK: '1', LC_ALL: 'C', ROCM_PATH: '/opt/rocm' }
  expect(workloadEnvironment(host, {})).toEqual(host)
})

it.each([
  'GITHUB_TOKEN',
  'GITHUB_ENV',
  'GITHUB_OUTPUT',
  'GITHUB_STEP_SUMMARY',
  'ACTIONS_RUNTIME_TOKEN',
  'ACTIONS_RESULTS_URL',
  'ACTIONS_ID_TOKEN_REQUEST_TOKEN',
  'INPUT_GITHUB-TOKEN',
  'RUNNER_TEMP',
  'RUNNER_TRACKING_ID',
  'HF_TOKEN',
  'HUGGING_FACE_HUB_TOKEN',
  'AWS_SECRET_ACCESS_KEY',
  'WANDB_API_KEY',
  'HTTPS_PROXY',
  'SSH_AUTH_SOCK',
  'BASH_ENV',
  'BASH_FUNC_ls%%',
  'ENV',
  'NODE_OPTIONS',
  'PYTHONSTARTUP',
  'path',
])('holds back %s', (name) => {
  expect(workloadEnvironment({ [name]: 'value' }, {})).toEqual({})
})

it('holds back an allowed name whose value or name looks like a secret', () => {
  const token = `ghp_${'a'.repeat(36)}`
  expect(workloadEnvironment({ ROCM_SETTING: token, AMD_API_KEY: 'x', TZ: undefined }, {})).toEqual({})
})

it("passes a config's own variables, over those of the host, but never one that steers the runner", () => {
  const configured = {
    HSA_XNACK: '0',
    MY_FLAG: '1',
    HF_TOKEN: 'mine',
    PATH: '/evil',
    GPU_IDS: '7',
    LD_PRELOAD: 'x',
  }
  expect(workloadEnvironment({ HSA_XNACK: '1', PATH: '/bin' }, configured)).toEqual({
    PATH: '/bin',
    HSA_XNACK: '0',
    MY_FLAG: '1',
    HF_TOKEN: 'mine',
  })
})
