/** Paired rounds: base and head in turn on one device until the interval decides; sees only ports. */

import { compareRounds, type Judged } from '../compare/head.ts'
import { comparePaired, type Look, type Round } from '../compare/paired.ts'
import { decideStop, type Order, roundOrder } from '../compare/stopping.ts'
import { metricOf, shownMetric } from '../compare/values.ts'
import { type Warning, WorkloadError, warningText } from '../errors.ts'
import { sha256Hex } from '../hash/hash.ts'
import type { Run, Trial } from '../measure/result.ts'
import type { Benchmark, Plan } from '../plan/plan.ts'
import type { DeviceFacts, Executor, HeldDevice, Worktree, World } from '../ports.ts'
import type { ShownRound } from '../report/report.ts'
import { makeRun } from './measure.ts'
import { rulesOf } from './rounds.ts'

/** Rounds that are made again because a half of them may not be judged, in all. */
const MOST_REPEATS = 3

export type Confirmed = {
  /** Undefined when not a single whole round could be made. */
  readonly judged: Judged | undefined
  readonly rounds: readonly ShownRound[]
  /** The trials of both sides as runs of this job; undefined when there are none. */
  readonly headRun: Run | undefined
  readonly baseRun: Run | undefined
  readonly warnings: readonly Warning[]
  /** Thrown by a cancelled job after what was made; the caller throws it again once the rounds are kept. */
  readonly interrupted?: unknown
}

export type Sides = {
  readonly head: Benchmark
  readonly base: Benchmark
  readonly baseCommit: string
}

/**
 * Runs rounds until decideStop says so. A half that fails at the base ends the rounds with a Warning, as the base may
 * not run any more; one that fails at the head too, since the head has run before. A half that may not be judged
 * costs its round, which is made again a few times.
 */
export async function confirmInRounds(
  plan: Plan,
  sides: Sides,
  look: Look & { readonly maxRounds: number },
  tree: Extract<Worktree, { kind: 'made' }>,
  facts: DeviceFacts,
  executor: Executor,
  world: World,
): Promise<Confirmed> {
  const { name } = sides.head
  const random = Number.parseInt(sha256Hex(`${plan.trigger.runId} ${name}`).slice(0, 8), 16) / 2 ** 32
  const state: State = { rounds: [], shown: [], head: [], base: [], warnings: [...tree.warnings], seconds: 0 }
  let why = 'no whole round was made'
  let repeats = 0
  await using held = await world.device.hold(facts)
  try {
    for (let round = 0; ; ) {
      const order = roundOrder(round, random)
      const made = await oneRound(plan, sides, tree, facts, executor, { held, order, round }, state, world)
      if (made.kind === 'ended') {
        why = made.why
        break
      }
      if (made.kind === 'invalid') {
        repeats += 1
        world.log.info(`${name}: round ${round + 1} is made again: ${made.why}`)
        if (repeats <= MOST_REPEATS) continue
        why = `too many rounds could not be judged: ${made.why}`
        break
      }
      round += 1
      const comparisons = comparePaired(state.rounds, look, sides.head.minEffect, sides.head.metrics)
      const stop = decideStop(round, comparisons, look, {
        secondsLeft: plan.roundsSeconds - state.seconds,
        secondsPerRound: state.seconds / round,
      })
      tell(name, round, look.maxRounds, comparisons, state.seconds, world)
      if (stop.kind === 'stop') {
        why = stop.why === 'decided' ? 'decided' : stop.text
        break
      }
    }
    return finished(state, look, sides.head, why)
  } catch (thrown) {
    // What was measured is kept, whatever ends the job.
    return { ...finished(state, look, sides.head, 'the job was ended'), interrupted: thrown }
  }
}

type State = {
  readonly rounds: Round[]
  readonly shown: ShownRound[]
  readonly head: Run[]
  readonly base: Run[]
  readonly warnings: Warning[]
  seconds: number
}

type OneRound =
  | { readonly kind: 'made' }
  | { readonly kind: 'invalid'; readonly why: string }
  | { readonly kind: 'ended'; readonly why: string }

async function oneRound(
  plan: Plan,
  sides: Sides,
  tree: Extract<Worktree, { kind: 'made' }>,
  facts: DeviceFacts,
  executor: Executor,
  { held, order, round }: { readonly held: HeldDevice; readonly order: Order; readonly round: number },
  state: State,
  world: World,
): Promise<OneRound> {
  const halves = order === 'base-head' ? (['base', 'head'] as const) : (['head', 'base'] as const)
  const trials: { base?: Trial; head?: Trial } = {}
  for (const side of halves) {
    const benchmark = side === 'base' ? sides.base : sides.head
    const title = `${sides.head.name}: round ${round + 1} of at most ${plan.maxRounds}, ${side}`
    const place = {
      held,
      title,
      profiled: false,
      commit: side === 'base' ? sides.baseCommit : world.commit,
      ...(side === 'base' && { folder: tree.folder }),
    }
    const made = await makeRun(plan, benchmark, facts, executor, place, world)
    if (made.kind === 'failed') {
      const message = `the ${side} failed in round ${round + 1}: ${made.failure.message}`
      state.warnings.push({ code: 'round-failed', message, hint: made.failure.hint }, ...made.warnings)
      return { kind: 'ended', why: message }
    }
    state.seconds += made.seconds
    state.warnings.push(...made.warnings)
    const [doubt] = made.trial.validity
    if (doubt !== undefined) return { kind: 'invalid', why: `${side}: ${doubt}` }
    trials[side] = made.trial
    state[side].push(made.run)
  }
  const { base, head } = trials
  if (base === undefined || head === undefined)
    throw new WorkloadError('workload-unreadable', 'a round lacks a half', {
      hint: '',
      logTail: '',
      logs: '',
    })
  state.rounds.push({ base, head })
  state.shown.push(shownRound(order, base, head))
  return { kind: 'made' }
}

function shownRound(order: Order, base: Trial, head: Trial): ShownRound {
  const { name, unit } = shownMetric([base, head])
  return {
    order,
    metric: name,
    unit,
    base: metricOf(base, name) ?? Number.NaN,
    head: metricOf(head, name) ?? Number.NaN,
  }
}

function finished(state: State, look: Look, head: Benchmark, why: string): Confirmed {
  return {
    judged: state.rounds.length === 0 ? undefined : compareRounds(state.rounds, look, rulesOf(head), why),
    rounds: state.shown,
    headRun: joined(state.head),
    baseRun: joined(state.base),
    warnings: state.warnings,
  }
}

/** The trials of one side as one run: they were made in one job. */
function joined(runs: readonly Run[]): Run | undefined {
  const [first] = runs
  if (first === undefined) return undefined
  return {
    ...first,
    warnings: [...new Set(runs.flatMap((run) => run.warnings))].slice(0, 100),
    trials: runs.flatMap((run) => run.trials),
  }
}

function tell(
  name: string,
  round: number,
  most: number,
  comparisons: readonly {
    readonly gating: boolean
    readonly verdict: string
    readonly change?: { readonly changePct: number; readonly loPct: number; readonly hiPct: number }
  }[],
  seconds: number,
  { log }: World,
): void {
  const gating = comparisons.find((comparison) => comparison.gating)
  const { change, verdict } = gating ?? {}
  const interval = change
    ? `${change.changePct.toFixed(1)} % (${change.loPct.toFixed(1)} to ${change.hiPct.toFixed(1)} %), ${verdict}`
    : 'no interval before three rounds'
  const left = (most - round) * (seconds / round)
  log.info(
    `${name}: round ${round} of at most ${most}: ${interval}; ${minutes(seconds)} used, at most ${minutes(left)} left`,
  )
}

function minutes(seconds: number): string {
  return `${(seconds / 60).toFixed(1)} min`
}

/** A Warning of a run, as the report shows it: rounds repeat theirs, and each is told once. */
export function onceByText(warnings: readonly Warning[]): readonly Warning[] {
  return [...new Map(warnings.map((warning) => [warningText(warning), warning])).values()]
}
