import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { node24, rootFolder } from '../support/child.ts'

const judge = (input: string, ...args: readonly string[]) =>
  spawnSync(node24(), [`${rootFolder}dist/cli/index.js`, 'judge', ...args], { input, encoding: 'utf8' })

type NoiseSet = { readonly set: string; readonly runs: readonly (readonly number[])[] }

const sets = JSON.parse(
  readFileSync(`${rootFolder}tests/fixtures/noise/samples.json`, 'utf8'),
) as readonly NoiseSet[]

describe('rocm-bench judge', () => {
  it('reads one request and prints one answer', () => {
    const request = {
      base: [[100, 101], [100], [99]],
      head: [[110], [111], [109]],
      direction: 'lower',
      minEffectPct: 2,
      design: 'paired',
    }
    const { stdout, status } = judge(JSON.stringify(request, null, 2))
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      verdict: 'regression',
      ci: [expect.any(Number), expect.any(Number)],
    })
  })

  it('judges thirty comparisons of the same code without an alarm, and finds all made 10 % slower', () => {
    const lines = (factor: number) =>
      sets
        .filter(({ set }) => set.startsWith('nano'))
        .flatMap(({ runs }) => [runs.slice(0, 8), runs.slice(-8)])
        .slice(0, 30)
        .map((runs) =>
          JSON.stringify({
            base: runs.filter((_, at) => at % 2 === 0),
            head: runs.filter((_, at) => at % 2 === 1).map((run) => run.map((sample) => sample * factor)),
            direction: 'lower',
            minEffectPct: 2,
            design: 'paired',
            look: { round: 4, minRounds: 3, maxRounds: 8 },
          }),
        )
        .join('\n')
    const verdicts = (input: string) => {
      const { stdout, status } = judge(input, '--batch')
      expect(status).toBe(0)
      return stdout
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { verdict: string }).verdict)
    }
    expect(verdicts(lines(1))).toEqual(Array(30).fill('unchanged'))
    expect(verdicts(lines(1.1))).toEqual(Array(30).fill('regression'))
  })

  it('answers a bad line by an error and goes on; the exit code tells', () => {
    const good = '{"base":[[1]],"head":[[1]],"direction":"lower","minEffectPct":2,"design":"cached"}'
    const { stdout, status } = judge(`${good}\n\n{"base":1}\nnope\n${good}\n`, '--batch')
    expect(status).toBe(2)
    const answers = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(answers.map((answer) => answer.verdict ?? 'error' in answer)).toEqual([
      'inconclusive',
      true,
      true,
      'inconclusive',
    ])
  })

  it('has a help, and no unknown options', () => {
    expect(judge('', '--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('minEffectPct') })
    expect(judge('', '--bach')).toMatchObject({ status: 2, stderr: expect.stringContaining('--bach') })
    expect(judge('')).toMatchObject({ status: 2, stdout: expect.stringContaining('is no JSON') })
  })
})
