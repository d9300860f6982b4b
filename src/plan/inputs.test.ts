import { describe, expect, it } from 'vitest'
import { INPUT_NAMES, type Inputs, readInputs, settle } from './inputs.ts'

function inputs(raw: Readonly<Record<string, string>>): Inputs {
  const read = readInputs({ workload: 'w.py', ...raw })
  if (read.kind === 'bad') throw new Error(JSON.stringify(read.issues))
  return read.inputs
}

function issues(raw: Readonly<Record<string, string>>): readonly string[] {
  const read = readInputs(raw)
  if (read.kind === 'ok') throw new Error('expected bad inputs')
  return read.issues.map((issue) => `${issue.where}: ${issue.message}`)
}

describe('readInputs', () => {
  it('fills the defaults, whether an input is empty or absent', () => {
    const empty = Object.fromEntries(INPUT_NAMES.map((name) => [name, '']))
    const expected: Inputs = {
      workload: 'w.py',
      config: { kind: 'inline', text: '{}' },
      warmupSteps: 2,
      runner: 'auto',
      device: 'auto',
      baseline: 'auto',
      minEffect: 0.02,
      failOn: 'regression',
      telemetry: true,
      maxRounds: 8,
      timeoutMinutes: 30,
      profile: 'off',
      comment: 'auto',
    }
    expect(inputs({})).toEqual(expected)
    expect(inputs({ ...empty, workload: ' w.py ' })).toEqual(expected)
  })

  it.each([
    ['{"model_name":"m"}', { kind: 'inline', text: '{"model_name":"m"}' }],
    ['model_name: m', { kind: 'inline', text: 'model_name: m' }],
    ['# c\nmodel_name: m', { kind: 'inline', text: '# c\nmodel_name: m' }],
    ['bench/a.yml', { kind: 'file', path: 'bench/a.yml' }],
    ['./bench//a.yml', { kind: 'file', path: 'bench/a.yml' }],
  ])('takes the config %j as file or text', (text, expected) => {
    expect(inputs({ config: text }).config).toEqual(expected)
  })

  it.each([
    ['2%', 0.02],
    ['0.5 %', 0.005],
    ['0.02', 0.02],
    ['.1', 0.1],
    ['50%', 0.5],
  ])('reads min-effect %s', (text, expected) => {
    expect(inputs({ 'min-effect': text }).minEffect).toBeCloseTo(expected, 12)
  })

  it.each([
    ['min-effect', '2'],
    ['min-effect', '0%'],
    ['min-effect', '60%'],
    ['min-effect', 'NaN'],
    ['min-effect', '1e-2'],
    ['steps', '9'],
    ['steps', '501'],
    ['steps', '5e1'],
    ['steps', '50.0'],
    ['steps', '-50'],
    ['warmup-steps', '101'],
    ['cache', 'yes'],
    ['force-rerun', '1'],
    ['runner', 'Live'],
    ['device', 'cuda'],
    ['baseline', 'pair'],
    ['fail-on', 'never'],
    ['comment', 'off'],
    ['timeout-minutes', '0'],
    ['timeout-minutes', '99999'],
    ['workload', '/etc/passwd'],
    ['workload', '../w.py'],
    ['workload', 'a\\b.py'],
    ['workload', '.'],
    ['config', '../c.json'],
    ['rocm-image-tag', 'a|b'],
    ['rocm-image-tag', 'a\u0007b'],
    ['name', 'a\nb'],
    ['baseline-ref', '--upload-pack=x'],
    ['baseline-ref', 'a b'],
    ['baseline-ref', 'a..b'],
  ])('refuses %s: %j and names the input', (name, value) => {
    const found = issues({ workload: 'w.py', [name]: value })
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(new RegExp(`^${name}: \``))
  })

  it('suggests the nearest choice', () => {
    expect(issues({ workload: 'w.py', runner: 'replya' })[0]).toContain('did you mean `replay`?')
  })

  it('reports every fault at once', () => {
    const found = issues({ steps: '1', cache: 'maybe', config: '../x', runner: 'gpu' })
    expect(found.map((issue) => issue.split(':')[0]).sort()).toEqual([
      'cache',
      'config',
      'runner',
      'steps',
      'workload',
    ])
  })
})

/** `cache` and `force-rerun`, each absent, true or false, as inputs and nested in the config by mistake. */
const STATES = [undefined, true, false] as const
const COMBINATIONS = STATES.flatMap((cache) =>
  STATES.flatMap((force) =>
    STATES.flatMap((nestedCache) =>
      STATES.map((nestedForce) => ({ cache, force, nestedCache, nestedForce })),
    ),
  ),
)

/** Whether the cache is read, written out by hand: row by what counts for `force-rerun`, then for `cache`. */
const READS: Readonly<Record<string, boolean>> = {
  'force undefined, cache undefined': true,
  'force undefined, cache true': true,
  'force undefined, cache false': false,
  'force true, cache undefined': false,
  'force true, cache true': false,
  'force true, cache false': false,
  'force false, cache undefined': true,
  'force false, cache true': true,
  'force false, cache false': true,
}

describe('settle', () => {
  it('covers all 81 combinations', () => {
    expect(COMBINATIONS).toHaveLength(81)
  })

  it.each(COMBINATIONS)(
    'cache $cache, force-rerun $force, nested cache $nestedCache, nested force-rerun $nestedForce',
    ({ cache, force, nestedCache, nestedForce }) => {
      const settled = settle(
        { ...(cache !== undefined && { cache }), ...(force !== undefined && { forceRerun: force }) },
        {
          ...(nestedCache !== undefined && { cache: nestedCache }),
          ...(nestedForce !== undefined && { 'force-rerun': nestedForce }),
        },
        'config',
      )
      if (settled.kind === 'bad') throw new Error(JSON.stringify(settled.issues))
      // A value in its right place wins over a nested one.
      const counts = `force ${force ?? nestedForce}, cache ${cache ?? nestedCache}`
      expect(settled.readCache).toBe(READS[counts])
      const overruled = [
        cache !== undefined && nestedCache !== undefined && cache !== nestedCache,
        force !== undefined && nestedForce !== undefined && force !== nestedForce,
      ].filter(Boolean).length
      const codes = settled.warnings.map((warning) => warning.code)
      expect(codes.filter((code) => code === 'config-key-overruled')).toHaveLength(overruled)
    },
  )

  it.each([
    [undefined, 20, 20],
    [30, 20, 30],
    [30, undefined, 30],
    [undefined, undefined, 50],
  ])('steps: input %s, nested %s → %s', (given, nested, expected) => {
    const settled = settle(
      given === undefined ? {} : { steps: given },
      nested === undefined ? {} : { steps: nested },
      'config',
    )
    expect(settled).toMatchObject({ kind: 'ok', steps: expected })
  })

  it('refuses a nested value that is no value, unless the input is given', () => {
    expect(settle({}, { steps: 'many' }, 'config')).toMatchObject({
      kind: 'bad',
      issues: [{ where: 'config.steps' }],
    })
    expect(settle({ steps: 20 }, { steps: 'many' }, 'config')).toMatchObject({ kind: 'ok', steps: 20 })
  })
})
