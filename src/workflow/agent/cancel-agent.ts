import { SessionBusyError, SessionNotFoundError } from '../../core/errors.ts'
import type { EntryBody } from '../../core/log.ts'
import { yieldEntry } from '../../plugins/yield-note.ts'
import { unknownAgentMessage } from '../agent-instance.ts'
import type { LiveAgent } from './live-agent.ts'

/** Stops the work of an agent, here or in another process, and denies its pending calls. */
export async function cancelAgent(agent: LiveAgent): Promise<void> {
  const { pending, writer, log, runs } = agent
  const wasAsking = log.views.messages.status.state === 'input-required'
  if (agent.running) {
    await agent.stop(new Error('the agent was cancelled'))
    if (!runs.isRunningElsewhere) return recordUndelivered(agent)
  }
  await stopRunElsewhere(agent)
  runs.useLoggedStatus()
  await recordUndelivered(agent)
  const calls = await pending.list()
  if (calls.length > 0) await pending.denyAll(calls)
  // A run is under way again because a person answered meanwhile. If nothing had been asked, it is new work.
  if (agent.running) return wasAsking || calls.length > 0 ? cancelAgent(agent) : undefined
  if (calls.length > 0 || isInterrupted(agent)) await writer.append(yieldEntry('canceled'))
}

/** Messages to a run that was cancelled before it delivered them stay visible as turns. */
async function recordUndelivered({ undelivered, running }: LiveAgent): Promise<void> {
  if (!running) await undelivered.recordCancelled()
}

/** Its process ended during a run, and the next process that starts would continue it. */
function isInterrupted({ log }: LiveAgent): boolean {
  const { status, messages } = log.views.messages
  return status.state === 'submitted' && messages.length > 0
}

/** Appends an entry even if other processes start runs meanwhile: those are cancelled. */
export async function appendOverRuns(agent: LiveAgent, entry: () => EntryBody, tries = 3): Promise<void> {
  try {
    await agent.writer.append(entry())
  } catch (error) {
    if (!(error instanceof SessionBusyError) || tries === 0) throw error
    await cancelAgent(agent)
    await appendOverRuns(agent, entry, tries - 1)
  }
}

/** How long another process may take to stop. */
const stopTimeoutMs = 10_000
/** How often we check whether the other process died, of which its log says nothing. */
const checkEveryMs = 1000

/** Stops the run of another process. Resolves when the run has ended, by itself or with its process. */
async function stopRunElsewhere(agent: LiveAgent): Promise<void> {
  const { id, session, undelivered, dependencies } = agent
  const { clock, newId } = dependencies
  const until = clock.now() + stopTimeoutMs
  const unlogged = `beginning/${newId()}`
  let told: string | undefined
  for (let run = await findRun(agent, unlogged); run !== undefined; run = await findRun(agent, unlogged)) {
    if (told !== undefined && told !== unlogged && told !== run) return // the run ended, and the next one has other work
    if (run !== told) await session.send({ mode: 'stop', clientKey: `stop/${run}`, content: [] })
    told = run
    if (await undelivered.importInboxUnlessBusy()) return
    if (clock.now() >= until)
      throw new Error(
        `agent ${id} is at work in another process, which was told to stop and has not after ${stopTimeoutMs / 1000} s; it stops when that process looks, or as soon as it is gone: try again later`,
      )
    await endOrPause(agent, run)
  }
}

/** The run of another process, by the latest log; `unlogged` stands for one whose first entry is not written yet. */
async function findRun(agent: LiveAgent, unlogged: string): Promise<string | undefined> {
  await agent.refresh()
  const { id, log, runs, running } = agent
  if (log.isDeleted) throw new Error(unknownAgentMessage(id))
  if (running) return undefined
  return log.activeRun ?? (runs.isRunningElsewhere ? unlogged : undefined)
}

/** Waits until the run has ended, or for a while. */
async function endOrPause({ id, store, log, dependencies }: LiveAgent, runId: string): Promise<void> {
  const done = new AbortController()
  const cancelTimer = dependencies.clock.timer(checkEveryMs, () => done.abort())
  try {
    for await (const { entries } of store.watch(id, { after: log.views.head, signal: done.signal }))
      if (
        entries.some((entry) => entry.type === 'run_ended' || (entry.type === 'run_started' && entry.runId !== runId))
      )
        return
  } catch (error) {
    if (!(error instanceof SessionNotFoundError)) throw error // it was deleted, as the next look finds
  } finally {
    cancelTimer()
    done.abort()
  }
}
