import { describe, expect, it } from 'vitest'
import {
  mergeGroupEvent,
  pullRequestEvent,
  pushEvent,
  type Trigger as Started,
  scheduleEvent,
  workflowDispatchEvent,
} from '../../tests/support/events.ts'
import { readTrigger, type TriggerFacts } from './trigger.ts'

const repository = 'acme/kernels'
const [BASE, HEAD, MERGE] = ['a', 'b', 'c'].map((digit) => digit.repeat(40)) as [string, string, string]

function facts(started: Started, more: Partial<TriggerFacts> = {}): TriggerFacts {
  return {
    event: started.event.name,
    repository,
    ref: started.ref,
    sha: started.sha,
    baseRef: started.baseRef ?? '',
    runId: '4242',
    attempt: '1',
    serverUrl: 'https://github.com',
    payload: started.event.payload,
    ...more,
  }
}

const pull = {
  repository,
  action: 'opened',
  number: 7,
  headRef: 'faster',
  headSha: HEAD,
  baseRef: 'release/2',
  baseSha: BASE,
  mergeSha: MERGE,
} as const

describe('readTrigger, on payloads as GitHub publishes them', () => {
  it('reads a push to a branch', () => {
    const started = pushEvent({ repository, ref: 'refs/heads/main', before: BASE, after: HEAD })
    expect(readTrigger(facts(started))).toMatchObject({
      trigger: {
        lane: 'base',
        base: { kind: 'push', before: BASE },
        trustedRefs: ['refs/heads/main'],
        runId: '4242.1',
        runUrl: 'https://github.com/acme/kernels/actions/runs/4242/attempts/1',
      },
      warnings: [],
    })
  })

  it('a new branch has no commit before', () => {
    const started = pushEvent({ repository, ref: 'refs/heads/new', before: '0'.repeat(40), after: HEAD })
    expect(readTrigger(facts(started)).trigger.base).toEqual({ kind: 'push' })
  })

  it('reads a pull request: the lane of a guest, the base as what is trusted', () => {
    const { trigger } = readTrigger(facts(pullRequestEvent(pull)))
    expect(trigger).toMatchObject({
      lane: 'pr',
      base: { kind: 'pull-request', baseRef: 'release/2', baseSha: BASE },
      trustedRefs: ['refs/heads/release/2', 'refs/heads/main'],
      pullRequest: { number: 7, headSha: HEAD, fork: false },
    })
  })

  it('knows a fork', () => {
    const started = pullRequestEvent({ ...pull, headRepository: 'guest/kernels' })
    expect(readTrigger(facts(started)).trigger.pullRequest?.fork).toBe(true)
  })

  it('a merge group is a guest too', () => {
    const started = mergeGroupEvent({
      repository,
      headSha: HEAD,
      headRef: `refs/heads/gh-readonly-queue/main/pr-7-${BASE}`,
      baseSha: BASE,
      baseRef: 'refs/heads/main',
    })
    expect(readTrigger(facts(started)).trigger).toMatchObject({
      lane: 'pr',
      base: { kind: 'merge-group', baseSha: BASE },
      trustedRefs: ['refs/heads/main'],
    })
  })

  it.each([
    ['schedule', scheduleEvent({ repository, sha: HEAD }), 'base'],
    ['workflow_dispatch', workflowDispatchEvent({ repository, ref: 'refs/heads/x', sha: HEAD }), 'base'],
  ])('%s compares with the commit before', (_name, started, lane) => {
    expect(readTrigger(facts(started)).trigger).toMatchObject({ lane, base: { kind: 'parent' } })
  })

  it('a tag compares with the tag before and writes no baseline', () => {
    const started = pushEvent({ repository, ref: 'refs/tags/v2', before: '0'.repeat(40), after: HEAD })
    expect(readTrigger(facts(started)).trigger).toMatchObject({ lane: 'pr', base: { kind: 'tag' } })
  })

  it.each(['pull_request_target', 'issue_comment', 'workflow_run', 'release', ''])(
    'the event %j never writes a baseline',
    (event) => {
      const started = pushEvent({ repository, ref: 'refs/heads/main', before: BASE, after: HEAD })
      expect(readTrigger(facts(started, { event })).trigger.lane).toBe('pr')
    },
  )

  it.each([[undefined], ['text'], [{ pull_request: { number: 'x' } }]])(
    'a payload of another shape (%j) costs what it would have told, not the job',
    (payload) => {
      const started = pullRequestEvent(pull)
      const { trigger, warnings } = readTrigger(facts(started, { payload }))
      expect(trigger.lane).toBe('pr')
      expect(trigger.pullRequest).toBeUndefined()
      expect(warnings.map((warning) => warning.code)).toEqual(
        payload === undefined ? [] : ['event-unreadable'],
      )
    },
  )

  it('a run id that fits no key is replaced', () => {
    const started = scheduleEvent({ repository, sha: HEAD })
    const { trigger } = readTrigger(facts(started, { runId: '../x', attempt: 'y' }))
    expect(trigger).toMatchObject({ runId: '0.1', runUrl: '' })
  })
})
