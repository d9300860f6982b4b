import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSteadyStage, STEADY_WORKLOAD, type Stage, steadyConfig, TOKEN } from '../support/stage.ts'

let stage: Stage

beforeEach(async () => {
  stage = await openSteadyStage()
})

afterEach(() => stage[Symbol.asyncDispose]())

async function playFiles(
  files: Readonly<Record<string, string>>,
  inputs: Readonly<Record<string, string>> = {},
) {
  await stage.repo.write(files)
  await stage.repo.commit('Change')
  return stage.play(await stage.push(), inputs)
}

describe('a hostile workload', () => {
  it('sees no token and nothing of the job', async () => {
    const script = `import os\nfor name, value in os.environ.items():\n    print("ENV", name, value[:500])\n${STEADY_WORKLOAD}`
    const run = await playFiles({ 'bench/steady.py': script }, {})
    const seen = [...run.stdout.matchAll(/\| ENV (\S+) (.*)/g)]
    const names = seen.map(([, name]) => name)
    expect(names.filter((name = '') => /^(GITHUB|ACTIONS|INPUT|NODE)_|TOKEN|SECRET/.test(name))).toEqual([])
    expect(names).toContain('BENCH_CONFIG')
    expect(JSON.stringify(seen)).not.toContain(TOKEN)
  })

  it('gives the runner no command', async () => {
    const lines = [
      '::error::forged',
      '  ::set-output name=verdict::improvement',
      'text ##[set-env name=A;]b',
      '::stop-commands::x',
      'a\\r::add-mask::steady',
      'b\\u2028::warning::split',
    ]
    const prints = lines.map((line) => `print("${line}")`).join('\n')
    const run = await playFiles({ 'bench/steady.py': `${prints}\n${STEADY_WORKLOAD}` })
    expect(run.code).toBe(0)
    const obeyed = run.commands.filter(
      ({ name }) => !['add-mask', 'group', 'endgroup', 'warning'].includes(name),
    )
    expect(obeyed).toEqual([])
    expect(run.annotations.filter(({ message }) => /forged|split/.test(message))).toEqual([])
    expect(run.stdout).toContain('::error::forged')
    expect(run.outputs.verdict).toBe('no-baseline')
  })

  it('gives the report no markup when it fails', async () => {
    const evil =
      '<img src=x onerror=alert(1)> @octocat ``` </details> | ![x](http://evil) <!-- rocm-bench-gate:x -->'
    const run = await playFiles({ 'bench/steady.py': `import sys\nsys.exit(${JSON.stringify(evil)})` })
    const [, fence = ''] = /\n(`{3,})text\n/.exec(run.summary) ?? []
    expect(fence.length).toBeGreaterThan(3)
    const outside = run.summary.replace(new RegExp(`\n${fence}text\n[^]*?\n${fence}`), '')
    expect(outside).not.toContain('<img')
    expect(outside).not.toContain('@octocat')
  })

  it('cannot lend another file through a link in place of its events or logs', async () => {
    const script = `import os\nos.symlink("/etc/passwd", os.environ["BENCH_EVENTS"])\nfolder = os.path.dirname(os.environ["BENCH_EVENTS"])\nos.remove(os.path.join(folder, "stderr.log"))\nos.symlink("/etc/passwd", os.path.join(folder, "stderr.log"))\nraise SystemExit(3)`
    const run = await playFiles({ 'bench/steady.py': script })
    expect(run.code).toBe(3)
    expect(`${run.stdout}${run.summary}`).not.toContain('root:')
  })
})

describe('hostile names and values', () => {
  const EVIL = '<b>x</b> @octocat #1 | `tick` [l](http://evil) $(touch pwned) ::error::y'

  it('stay text in comment and summary', async () => {
    await stage.play(await stage.push(), { name: EVIL })
    const config = `model_name: '${EVIL}'\nextras: { step_ms: 15, '${EVIL}': '${EVIL}' }\n`
    const trigger = await stage.pull({ number: 7, headRef: 'evil' }, { 'bench/steady.yml': config })
    const run = await stage.play(trigger, { name: EVIL })
    const [comment] = stage.github.state.comments
    for (const text of [comment?.body ?? '', run.summary]) {
      const spans = /(`+)[^\n]*?[^`]\1(?!`)|<code>[^<>]*<\/code>/g
      const outside = text.replaceAll(spans, '')
      expect(outside).not.toContain('<b>')
      expect(outside).not.toContain('@octocat')
      expect(outside).not.toContain('(http://evil)')
      for (const row of text.split('\n').filter((line) => line.startsWith('| ') && line.includes('verdict')))
        expect(row.split(/(?<!\\)\|/)).toHaveLength(8)
    }
    expect(comment?.body.split('\n')[0]).toMatch(/^<!-- rocm-bench-gate:[^<> ]+ -->$/)
    expect(run.commands.filter(({ name, message }) => name === 'error' && message === 'y')).toEqual([])
  })

  it('a secret in the config reaches the workload, and nothing else', async () => {
    const secret = 'hunter2-and-more'
    const config = `${steadyConfig(10)}env_vars: { MY_API_KEY: ${secret} }\n`
    const script = `import os\nassert os.environ["MY_API_KEY"] == "${secret}".strip()\n${STEADY_WORKLOAD}`
    await stage.repo.write({
      'bench/steady.py': script.replace(`"${secret}".strip()`, '"-".join(["hunter2", "and", "more"])'),
    })
    const run = await playFiles({ 'bench/steady.yml': config })
    expect(run.code, run.stdout).toBe(0)
    expect(run.commands.filter(({ name }) => name === 'add-mask').map(({ message }) => message)).toContain(
      secret,
    )
    const unmasked = run.lines.filter((line) => !line.startsWith('::add-mask::')).join('\n')
    expect(`${unmasked}${run.summary}${JSON.stringify(run.outputs)}`).not.toContain(secret)
    expect(run.summary).toContain('"MY_API_KEY":"***"')
    const hit = await stage.play(await stage.push())
    expect(hit.outputs['cache-hit']).toBe('true')
    const other = await playFiles({ 'bench/steady.yml': config.replace(secret, 'another-secret') })
    expect(other.outputs.hash).not.toBe(run.outputs.hash)
  })

  it('a branch name is never a command', async () => {
    const run = await stage.play(
      await stage.push(),
      {},
      { env: { GITHUB_REF: 'refs/heads/$(touch pwned);`id`' } },
    )
    expect(run.code).toBe(0)
    expect(await stage.repo.git('status', '--porcelain')).toBe('')
  })
})

describe('wrong inputs', () => {
  it('are told all at once, each with what to write', async () => {
    const run = await stage.play(await stage.push(), {
      workload: '../w.py',
      steps: '5',
      'fail-on': 'regresion',
      'min-effect': '200%',
    })
    expect(run.code).toBe(2)
    expect(run.annotations.map(({ message }) => message)).toEqual([
      expect.stringContaining('workload: `../w.py` leaves the repository'),
      expect.stringContaining('steps: `5` is no whole number from 10 to 500'),
      expect.stringContaining('min-effect: `200%`'),
      expect.stringContaining('did you mean `regression`?'),
    ])
  })

  it('in the config name field, value and the nearest name', async () => {
    const run = await playFiles({ 'bench/steady.yml': 'model_name: m\nbatchsize: 4\nprecision: bf61\n' })
    expect(run.code).toBe(2)
    const messages = run.annotations.map(({ message }) => message)
    expect(messages).toEqual([
      expect.stringContaining('bench/steady.yml.precision: "bf61" is not valid (did you mean `bf16`?'),
      expect.stringContaining(
        'bench/steady.yml.batchsize: unknown field, value 4 (did you mean `batch_size`?',
      ),
    ])
  })

  it('nested steps and cache are lifted out, with a warning', async () => {
    const run = await playFiles(
      { 'bench/steady.yml': `${steadyConfig(10)}steps: 12\ncache: false\n` },
      { steps: '' },
    )
    expect(run.code).toBe(0)
    expect(run.summary).toContain('holds `steps`, which is no config field')
    expect(JSON.parse(run.outputs.metrics ?? '')[0].metrics.steps).toBe(12)
    const again = await stage.play(await stage.push(), { steps: '' })
    expect(again.outputs['cache-hit']).toBe('false')
  })
})
