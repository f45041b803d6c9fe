import { stat } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import {
  AgentAbortedError,
  messageOf,
  SessionBusyError,
  SessionNotFoundError,
  SessionParkedError,
} from '../../core/errors.ts'
import type { Session, SessionStore, SessionSummary } from '../../core/store.ts'
import type { ToolDef } from '../../core/tool.ts'
import { compactWith } from '../../extensions/compact-now.ts'
import { type WorkInRun, workInRun } from '../../extensions/work-in-run.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { AgentForRequest, ServedAgent } from '../../server/session-work.ts'
import { askUser } from '../../tools/ask-user.ts'
import { presentPlan } from '../../tools/present-plan.ts'
import { chosenValues } from '../chat/open-chat-agent.ts'
import { CliError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { linesView } from '../mcp/servers.ts'
import { type OpenedAgent, openAgent } from '../run/open-agent.ts'
import { realFolder } from '../sessions/session-folder.ts'

export interface ServedSessionOptions {
  /** The flags of an agent. */
  readonly values: RunValues
  readonly io: Io
  /** For sessions without a folder. Absolute. */
  readonly cwd: string
  readonly store: SessionStore
  /** Shows a person a line, the same one at most once a minute. */
  readonly notify: (text: string) => void
}

/** The agent of the command line that works on a session. Throws if its folder is gone, or it cannot be put together. */
export async function servedSession(
  { session, summary, settings, skills }: AgentForRequest,
  options: ServedSessionOptions,
): Promise<ServedAgent> {
  const { notify } = options
  // It stays there when the next server is started elsewhere, and libero finds it in its folder. If another process has the
  // session now, the run finds that out.
  if (summary.folder === undefined) await session.setDetails({ folder: realFolder(options.cwd) }).catch(() => {})
  const values = chosenValues(options.values, {}, settings)
  const work = workInRun()
  const opened = await openServed(await folderOf(summary, options.cwd), session, { ...options, values, work })
  const { agent, authority, chosen, close } = opened
  const { thinking = opened.thinking } = settings
  for (const notice of opened.notices) notify(notice)
  for (const name of skills)
    await agent.activateSkill(name).catch((error: unknown) => notify(`session ${session.id}: ${messageOf(error)}`))
  const run = { model: chosen.model, ...(thinking !== undefined && { thinking }) }
  let hasBegun = false
  agent.hooks.hook('session:start', () => {
    hasBegun = true
  })
  return {
    agent: {
      abort: () => agent.abort(),
      leave: () => agent.leave(),
      execution: agent.execution,
      run: (own = {}) =>
        agent.run({ ...run, ...own }).catch((error: unknown) => {
          if (hasBegun && !(error instanceof AgentAbortedError)) notify(`session ${session.id}: ${messageOf(error)}`)
          if (hasBegun || isElsewhere(error)) throw error
          throw new Error(messageOf(error), { cause: error }) // its reason is not in the log yet
        }),
    },
    authority,
    activateSkill: (name) => agent.activateSkill(name),
    compact: () => compactWith(work, agent, { model: chosen.model }),
    close,
  }
}

const isElsewhere = (error: unknown): boolean =>
  error instanceof SessionBusyError || error instanceof SessionNotFoundError || error instanceof SessionParkedError

function openServed(
  cwd: string,
  session: Session,
  { values: { skill, ...values }, io, store, notify, work }: ServedSessionOptions & { readonly work: WorkInRun },
): Promise<OpenedAgent> {
  const isNew = session.turns.length === 0 && session.turnsBefore === 0
  return openAgent(
    { ...values, ...(skill && isNew && { skill }) },
    { command: 'serve', io, cwd, store, session, tools: questions, servers: linesView(notify), extensions: [work] },
  )
}

/** This process has no person to ask: the question waits in the log, and the answer of a client is the result of its call. */
export const questions: readonly ToolDef[] = [askUser, presentPlan].map((tool) => ({
  ...tool,
  execute: (input, ctx) => (ctx.answer ? tool.execute(input, ctx) : ctx.suspend('question')),
}))

/** The folder that a client names for a new session: a full path, or one below the home. Throws if there is none. */
export async function newFolder(named: string, { userHome }: Pick<Io, 'userHome'>): Promise<string> {
  return realFolder(await folderOf({ folder: named.replace(/^~(?=\/|$)/, userHome) }, userHome))
}

/** The folder in which a session works. Throws if it is gone: its tools would work elsewhere. */
export async function folderOf({ folder }: Pick<SessionSummary, 'folder'>, cwd: string): Promise<string> {
  if (folder === undefined) return cwd
  const shown = fullyVisible(folder)
  if (!isAbsolute(folder))
    throw new CliError(`The folder of this session, ${shown}, is no absolute path; begin another`)
  const info = await stat(folder).catch((cause) => {
    throw new CliError(
      `The folder of this session, ${shown}, is gone or may not be entered; make it again, or begin another session`,
      undefined,
      { cause },
    )
  })
  if (!info.isDirectory()) throw new CliError(`The folder of this session, ${shown}, is a file; move that away`)
  return folder
}
