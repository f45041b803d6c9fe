import { existsSync, writeSync } from 'node:fs'
import { assembleAgent } from '../src/core/agent.ts'
import { createIds, systemClock } from '../src/core/clock.ts'
import { LeaseLostError, messageOf, SessionBusyError, SessionParkedError, StoreError } from '../src/core/errors.ts'
import { failpoint, type Log } from '../src/core/log.ts'
import type { Session, SessionStore } from '../src/core/store.ts'
import { loadSession, openSession } from '../src/sessions/session.ts'
import { digestOf } from './checker.ts'
import type { Note } from './evidence.ts'
import { listenToFailpoints } from './failpoints.ts'
import { openLedger } from './ledger.ts'
import { planOf } from './plan.ts'
import { plannedModel } from './planned-model.ts'
import { openStore, sessionId } from './stores.ts'
import { watchedStore } from './watched-store.ts'
import { exits, type WorkerOptions } from './worker-options.ts'
import { workerTools } from './worker-tools.ts'

// A process that works on a session until it is done, or is killed.
const options = JSON.parse(process.argv[2]!) as WorkerOptions
const { kind, folder, writer, plan } = options
const write = openLedger(folder)
let leave: () => void = () => {}
const passed = listenToFailpoints(options, () => leave())
let epoch = 0
let lastSent = ''

say('ready')
process.exitCode = await runWorker().catch(exitOf)
if (options.lists) write({ kind: 'failpoints', counts: Object.fromEntries(passed) })

async function runWorker(): Promise<number> {
  const store = watchedStore(await openStore(kind, folder, options.skewMs), write, {
    root: sessionId,
    writer,
    onLease: (taken) => {
      epoch = taken
    },
    onSent: (clientKey) => {
      lastSent = clientKey
    },
  })
  try {
    return await work(store)
  } finally {
    await store.close?.()
  }
}

async function work(store: SessionStore): Promise<number> {
  const session = await open(store)
  if (options.role === 'steer') {
    const clientKey = `steer-${writer}`
    await session.send({ mode: 'steer', clientKey, content: [{ type: 'text', text: `${writer} was here` }] })
    note({ kind: 'ack', of: 'message', clientKey })
    return exits.done
  }
  if (options.role === 'answer') return answerOne(session, store)
  if (options.unparks) await session.unpark()
  return run(session, store)
}

function open(store: SessionStore): Promise<Session> {
  const { takeOver = false, leaseMs = 30_000, skewMs = 0 } = options
  const clock = { ...systemClock, now: () => Date.now() + skewMs }
  return openSession(store, sessionId, { clock, owner: writer, leaseMs, takeOver, newId: createIds() })
}

async function run(session: Session, store: SessionStore): Promise<number> {
  const tools = workerTools({ folder, writer, store, note, epoch: () => epoch, agent: () => agent })
  const agent = assembleAgent({ provider: plannedModel(planOf(plan)), session, tools })
  const { hooks } = agent
  leave = () => void agent.leave()
  const clientKey = options.ownPrompt ? `prompt-${writer}` : 'prompt'
  watch(session.log, session.id)
  hooks.hook('session:start', async () => {
    note({ kind: 'ack', of: 'prompt', clientKey })
    const { hold } = options
    for (let i = 0; hold && !existsSync(hold) && i < 12_000; i++) await new Promise((resolve) => setTimeout(resolve, 5))
  })
  hooks.hook('tool:gate', (gate) => {
    if (gate.name === 'deploy' && gate.approval?.decision !== 'allow')
      gate.halt = { reason: 'approval', digest: `deploy/${gate.callId}` }
  })
  hooks.hook('tool:after', ({ callId }) => note({ kind: 'ack', of: 'tool', session: session.id, callId }))
  hooks.hook('turn:after', ({ sessionTurn }) => {
    if (sessionTurn) note({ kind: 'ack', of: 'turn', session: session.id, turnId: sessionTurn.id })
  })
  hooks.hook('spawn:before', ({ childId, log }) => watch(log, childId))
  hooks.hook('child:tool:after', ({ callId, childId }) => note({ kind: 'ack', of: 'tool', session: childId, callId }))
  hooks.hook('child:turn:after', ({ sessionTurn, childId }) => {
    if (sessionTurn) note({ kind: 'ack', of: 'turn', session: childId, turnId: sessionTurn.id })
  })
  for (let rounds = 0; rounds < 20; rounds++) {
    const { status, text } = await agent.run({ prompt: 'Begin.', clientKey })
    note({ kind: 'ack', of: 'run', status, text })
    if (status === 'completed') return exits.done
    if (status === 'left') return exits.left
    if (!options.answers) return exits.suspended
    // A separate session object, as in another process: its answer goes through the inbox.
    await answerOne(await loadSession(store, session.id), store)
  }
  throw new Error('The run is suspended repeatedly in spite of answers')
}

/** Answers like a person: first with a wrong digest, then correctly. */
async function answerOne(session: Session, store: SessionStore): Promise<number> {
  const waiting = await session.pendingInTree()
  // A call that spawned waits for its child, not for a person.
  const call = waiting.find(({ decision, name }) => decision === undefined && name !== 'spawn')
  if (!call) return exits.done
  const { callId, name } = call
  const asking = call.sessionId === session.id ? session : await loadSession(store, call.sessionId)
  const wrong = `wrong/${callId}`
  if (name === 'deploy' && !asking.log.transcript.hasClientKey(wrong)) {
    const answer = { callId, digest: 'something else', decision: 'allow' } as const
    await asking.send({ mode: 'answer', clientKey: wrong, content: [], answer })
    note({ kind: 'ack', of: 'answer', clientKey: wrong })
    return exits.done
  }
  lastSent = ''
  try {
    const answer = name === 'deploy' ? { decision: 'allow' as const } : { content: 'Yes.' }
    await asking.answer(callId, { ...answer, by: writer })
  } catch (error) {
    const { pending } = await loadSession(store, asking.id)
    if (pending.some((one) => one.callId === callId)) throw error
    return exits.done // another process has answered, and the run continued
  }
  if (lastSent !== '') note({ kind: 'ack', of: 'answer', clientKey: lastSent })
  return exits.done
}

function watch(log: Log, session: string): void {
  log.subscribe((entry) => {
    const { seq, id, type } = entry
    const callId = entry.type === 'call_result' && { callId: entry.callId }
    note({ kind: 'event', session, seq, id, type, digest: digestOf(entry), ...callId })
  })
}

/** Writes it down, and notifies the parent process. */
function note(what: Note): void {
  const name = what.kind === 'ack' ? `ack:${what.of}` : what.kind
  write(what)
  if (what.kind === 'ack') failpoint(name)
  say(name)
}

function say(name: string): void {
  try {
    writeSync(1, `${name}\n`)
  } catch {
    // the parent is gone
  }
}

function exitOf(error: unknown): number {
  const { owner } = error as { owner?: string }
  const name = error instanceof Error ? error.name : typeof error
  write({ kind: 'refused', writer, error: name, ...(owner !== undefined && { owner }) })
  if (error instanceof SessionBusyError) return exits.busy
  if (error instanceof LeaseLostError) return exits.leaseLost
  if (error instanceof SessionParkedError) return exits.parked
  if (error instanceof StoreError && error.code === 'busy') return exits.storeBusy
  console.error(error instanceof Error ? error.stack : messageOf(error))
  return exits.failed
}
