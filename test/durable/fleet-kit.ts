import { onTestFinished } from 'vitest'
import type { Authority } from '../../src/authority/authority.ts'
import type { Clock } from '../../src/core/clock.ts'
import type { LogEntry } from '../../src/core/log.ts'
import type { AgentHookMap } from '../../src/core/run.ts'
import type { SessionStore } from '../../src/core/store.ts'
import type { ToolDef } from '../../src/core/tool.ts'
import { textOf } from '../../src/core/turn.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createFleet } from '../../src/durable/create-fleet.ts'
import type { Dispatcher } from '../../src/durable/dispatcher.ts'
import { inProcessDispatcher } from '../../src/durable/dispatchers/in-process.ts'
import type { AgentKind, Fleet, FleetOptions } from '../../src/durable/fleet.ts'
import { createMemoryStore } from '../../src/sessions/stores.ts'
import { type FakeClock, fakeClock, type ScriptedProvider, type Step, scripted } from '../../src/testing/index.ts'
import { eventually } from '../postgres-kit.ts'

export interface FleetKit {
  readonly fleet: Fleet
  readonly store: SessionStore
  readonly clock: FakeClock
  readonly provider: ScriptedProvider
  readonly errors: Error[]
  /** The texts of the model and of people in a session, in their order. */
  said(id: string): Promise<readonly string[]>
  entries(id: string): Promise<readonly LogEntry[]>
  /** Waits until something is true, without advancing the time. */
  until(isTrue: () => boolean | Promise<boolean>): Promise<void>
  /** Waits until the model has answered so many messages of a session. */
  answered(id: string, times?: number): Promise<void>
}

interface KitOptions extends Partial<FleetOptions> {
  readonly steps?: readonly Step[]
  readonly tools?: Record<string, ToolDef>
  readonly hooks?: AgentHookMap
  readonly authority?: Authority
  /** Errors of workers are part of the test. */
  readonly mayFail?: true
}

/** A fleet in memory with a model that plays a script, and a clock that the test advances. */
export function fleetKit({
  steps = [],
  tools = {},
  hooks = {},
  authority,
  mayFail,
  ...given
}: KitOptions = {}): FleetKit {
  const clock = (given.clock ?? fakeClock(1_000_000)) as FakeClock
  const store = given.store ?? createMemoryStore({ clock })
  const dispatcher = given.dispatcher ?? inProcessDispatcher({ clock })
  const provider = scripted(...steps)
  const errors: Error[] = []
  const coder: AgentKind = ({ session }) =>
    createAgent({ provider, session, clock, tools, hooks, ...(authority && { authority }) })
  const fleet = createFleet({
    ...{ store, dispatcher, kinds: { coder }, clock, onError: (error) => errors.push(error) },
    ...given,
  })
  onTestFinished(() => fleet.close())
  const until: FleetKit['until'] = (isTrue) =>
    eventually(async () => {
      await clock.advance(0)
      if (errors.length > 0 && !mayFail) throw errors[0]
      return isTrue()
    })
  const repliesIn = async (id: string): Promise<number> =>
    (await saidIn(store, id)).filter((line) => line.startsWith('assistant')).length
  return {
    ...{ fleet, store, clock, provider, errors },
    said: (id) => saidIn(store, id),
    entries: (id) => store.read(id),
    until,
    answered: (id, times = 1) => until(async () => (await repliesIn(id)) >= times && !(await store.find(id))?.isHeld),
  }
}

export async function saidIn(store: SessionStore, id: string): Promise<readonly string[]> {
  const turns = (await store.read(id)).flatMap((entry) => (entry.type === 'turn' ? [entry.turn] : []))
  return turns.map((turn) => `${turn.role}: ${textOf(turn)}`)
}

/** A dispatcher in memory whose jobs can all be lost. */
export function losableDispatcher(clock: Clock): Dispatcher & { lose(): void } {
  let inner = inProcessDispatcher({ clock })
  const listeners = new Set<() => void>()
  const listen = (): unknown =>
    inner.onWake!(() => {
      for (const listener of listeners) listener()
    })
  listen()
  return {
    extendEveryMs: inner.extendEveryMs,
    wake: (id, options) => inner.wake(id, options),
    claim: (free, options) => inner.claim(free, options),
    extend: (jobs) => inner.extend(jobs),
    settle: (jobs) => inner.settle(jobs),
    stats: () => inner.stats!(),
    onWake(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    lose() {
      void inner.close()
      inner = inProcessDispatcher({ clock })
      listen()
    },
    close: () => inner.close(),
  }
}

/** A promise that the test settles. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}
