import { existsSync } from 'node:fs'
import { systemClock } from '../../core/clock.ts'
import type { Session, SessionStore } from '../../core/store.ts'
import { textOf } from '../../core/turn.ts'
import { createProcessContext } from '../../execution/process.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { loadSession } from '../../sessions/session.ts'
import { RollbackRefusedError } from '../../snapshots/rollback-error.ts'
import type { RollbackOptions, SessionRollbackPlan, SessionRollbackResult } from '../../snapshots/session-rollback.ts'
import { createSnapshots, type Snapshots } from '../../snapshots/snapshots.ts'
import { Timeline } from '../../snapshots/timeline.ts'
import { formatDate, pluralize } from '../../tui/rows/format.ts'
import { emptyView, foldEntries } from '../../view/session-view.ts'
import { confirm, requireTerminal } from '../agents/confirm.ts'
import { snapshotOptions } from '../assembly/snapshot-options.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import { loadConfig } from '../config/config.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../text.ts'
import { findSession, latestInFolder } from './find-session.ts'
import { requireSessionId, type SessionArgs, withStore } from './open-store.ts'
import { realFolder } from './session-folder.ts'
import { isAgentId } from './session-id.ts'

interface RewindValues {
  readonly at?: string
  readonly files?: boolean
  readonly conversation?: boolean
  readonly list?: boolean
  readonly force?: boolean
  readonly 'dry-run'?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}

/** `libero sessions rewind`: back to before a message of the person, conversation and files. */
export async function rewind(given: SessionArgs<RewindValues>, io: Io): Promise<number> {
  const { words, values } = given
  requireSessionId(words, 'rewind')
  return withSession(io, words[0], async (opened) => {
    const prompts = await promptsOf(opened.session)
    if (values.list) {
      for (const { number, at, text } of prompts) io.out(`${number}  ${formatDate(at)}  ${fullyVisible(text)}`)
      return exitCodes.done
    }
    const target = targetOf(prompts, words[1], values.at, opened.session)
    return goBack(opened, { ...target, values, scope: scopeOf(values) }, io)
  })
}

/** `libero sessions rollback`: the files alone. */
export function rollback(given: SessionArgs<RewindValues>, io: Io): Promise<number> {
  return rewind({ ...given, values: { ...given.values, files: true } }, io)
}

/** `libero undo`: undoes what happened last in a session, a prompt or a rollback. */
export async function undo({ words, values }: SessionArgs<RewindValues>, io: Io): Promise<number> {
  return withSession(io, words[0], async (opened) => {
    const { session, snapshots, timeline } = opened
    const last = timeline.pieces.at(-1)
    if (!last?.rollback) {
      const prompts = await promptsOf(session)
      return goBack(opened, { ...targetOf(prompts, undefined, undefined, session), values, scope: scopeOf(values) }, io)
    }
    const { seq: rolledBackAt, at, rollback: undone, after } = last
    const isCutOff = undone.scope !== 'conversation' && !after
    const { force = false } = values
    const what = undone.added === undefined ? 'the rollback' : 'the undo of the rollback'
    const plan: SessionRollbackPlan =
      undone.scope === 'conversation' || isCutOff
        ? { turns: [] }
        : await snapshots.planRollback(session, { to: rolledBackAt - 1, scope: 'files', force })
    const shown = {
      title: `Session ${fullyVisible(session.id)}, without ${what} of ${formatDate(at)}:`,
      lines: isCutOff ? ['It was interrupted: it is finished first, and then undone'] : planLines(plan, { force }),
      facts: { session: session.id, undoes: what, ...(plan.files && { files: plan.files }) },
      question: `Undo ${what}?`,
    }
    if (!(await isWanted(shown, values, io))) return exitCodes.done
    const done = await snapshots.undoRollback(session, { force })
    return print(done, { io, session, values, turnsWord: undone.added === undefined ? 'came back' : 'left again' })
  })
}

interface Opened {
  readonly session: Session
  readonly snapshots: Snapshots
  readonly timeline: Timeline
  /** Why files stay as they are. */
  readonly withoutFiles: string | undefined
}

async function withSession(
  io: Io,
  word: string | undefined,
  work: (opened: Opened) => Promise<number>,
): Promise<number> {
  return withStore(io, async (store) => {
    const session = await loadSession(
      store,
      word === undefined ? await latestHere(store, io) : await findSession(store, word),
    )
    if (isAgentId(session.id))
      throw new CliError(`${fullyVisible(session.id)} is an agent; use libero agents rewind and libero agents rollback`)
    const timeline = await Timeline.read(session.entries())
    const { snapshots, folder } = await openSnapshots(timeline, io)
    try {
      return await work({ session, snapshots, timeline, withoutFiles: filesReason(timeline, folder) })
    } catch (error) {
      throw error instanceof RollbackRefusedError ? refusal(error) : error
    } finally {
      await snapshots.close()
    }
  })
}

/** The snapshots of the folder in which a session worked. */
export async function openSnapshots(
  timeline: Timeline,
  io: Io,
): Promise<{ readonly snapshots: Snapshots; readonly folder: string }> {
  const folder = timeline.folder ?? io.cwd
  const execution = createProcessContext({ cwd: existsSync(folder) ? folder : io.cwd })
  const { config } = await loadConfig(io)
  const options = snapshotOptions(config, { execution, io }) ?? {}
  const snapshots = createSnapshots({
    ...options,
    execution,
    clock: systemClock,
    onInterrupted: ({ outcome }) =>
      io.err(
        outcome === 'finished'
          ? 'An interrupted rollback was finished first'
          : 'A rollback was interrupted before it changed anything',
      ),
  })
  return { snapshots, folder }
}

async function latestHere(store: SessionStore, { cwd }: Pick<Io, 'cwd'>): Promise<string> {
  const id = await latestInFolder(store, realFolder(cwd))
  if (id !== undefined) return id
  throw new CliError(`No session was begun in ${fullyVisible(cwd)}; name one: libero sessions list --all shows them`)
}

function filesReason(timeline: Timeline, folder: string): string | undefined {
  if (timeline.folder === undefined)
    return fullyVisible(timeline.unavailable ?? 'no snapshot of them was taken in this session')
  return existsSync(folder)
    ? undefined
    : `their folder ${fullyVisible(folder)} is not on this machine (any more); make it again to restore them`
}

/** Rewords an error of the API for the command line. */
function refusal(error: RollbackRefusedError): CliError {
  const advice = error.code === 'not_kept' ? '; --conversation rewinds the conversation alone' : ''
  return new CliError(fullyVisible(error.message.replace('with force', 'with --force')) + advice, undefined, {
    cause: error,
  })
}

interface Prompt {
  readonly number: number
  /** The first entry of what it began. */
  readonly from: number
  readonly at: number
  readonly text: string
}

/** The messages of the person that are in the conversation, oldest first. */
async function promptsOf(session: Session): Promise<readonly Prompt[]> {
  let view = emptyView
  for await (const entry of session.entries()) view = foldEntries(view, [entry])
  const rows = [...view.rows].filter((row) => row.kind === 'message').filter(({ isNote }) => !isNote)
  return rows.map(({ at, from, content }, i) => ({
    ...{ number: i + 1, at, from },
    text: firstLine(textOf({ role: 'user', content })),
  }))
}

const firstLine = (text: string): string => (text.trim().split('\n')[0] ?? '').slice(0, 100)

interface Target {
  readonly to: number
  readonly name: string
}

function targetOf(
  prompts: readonly Prompt[],
  word: string | undefined,
  at: string | undefined,
  { id, log }: Session,
): Target {
  if (at !== undefined) {
    if (Number(at) > log.head)
      throw new CliError(`Session ${fullyVisible(id)} has ${log.head} entries; --at ${fullyVisible(at)} is beyond them`)
    return { to: Number(at), name: `after entry ${at}` }
  }
  const prompt = word === undefined ? prompts.at(-1) : prompts[Number(word) - 1]
  if (!prompt)
    throw new CliError(
      word === undefined
        ? `Session ${fullyVisible(id)} has no message to go back to`
        : `Session ${fullyVisible(id)} has no message ${fullyVisible(word)}; libero sessions rewind ${fullyVisible(id)} --list shows ${pluralize(prompts.length, 'message')}`,
    )
  return { to: prompt.from - 1, name: `before message ${prompt.number}, “${fullyVisible(prompt.text)}”` }
}

function scopeOf({ files, conversation }: RewindValues): RollbackOptions['scope'] {
  if (files && conversation) return 'both'
  if (files) return 'files'
  return conversation ? 'conversation' : undefined
}

async function goBack(
  { session, snapshots, withoutFiles }: Opened,
  {
    to,
    name,
    values,
    scope: wanted,
  }: Target & { readonly values: RewindValues; readonly scope: RollbackOptions['scope'] },
  io: Io,
): Promise<number> {
  const { force = false } = values
  if (wanted !== undefined && wanted !== 'conversation' && withoutFiles !== undefined)
    throw new CliError(`The files cannot be restored: ${withoutFiles}`)
  const scope = wanted ?? (withoutFiles === undefined ? 'both' : 'conversation')
  const options = { to, scope, force }
  const plan = await snapshots.planRollback(session, options)
  const stays = wanted === undefined && withoutFiles !== undefined ? [`Files stay as they are: ${withoutFiles}`] : []
  const shown = {
    title: `Session ${fullyVisible(session.id)}, back to ${name}:`,
    lines: [...planLines(plan, { force }), ...stays],
    facts: { session: session.id, to, scope, turns: plan.turns.length, ...(plan.files && { files: plan.files }) },
    question: 'Go back?',
  }
  if (!(await isWanted(shown, values, io))) return exitCodes.done
  return print(await snapshots.rollback(session, options), { io, session, values, turnsWord: 'left the conversation' })
}

interface ShownPlan {
  readonly title: string
  readonly lines: readonly string[]
  /** The plan for programs. */
  readonly facts: object
  readonly question: string
}

/** Shows what would be done, and asks. False if it is not to be done. */
async function isWanted({ title, lines, facts, question }: ShownPlan, values: RewindValues, io: Io): Promise<boolean> {
  const { 'dry-run': isDry, json } = values
  const say = isDry ? io.out : io.err
  if (json && isDry) io.out(jsonText(facts))
  if (!json) for (const line of [title, ...lines.map((one) => `  ${one}`)]) say(line)
  if (isDry) return false
  if (values.yes) return true
  requireTerminal(io, 'this command asks before it changes the conversation or files')
  if (json) throw new CliError('--json needs --yes or --dry-run', exitCodes.usage)
  if (await confirm(question, io)) return true
  io.err('Nothing was changed')
  return false
}

function planLines({ turns, files }: SessionRollbackPlan, { force }: { readonly force: boolean }): string[] {
  const lines =
    turns.length > 0
      ? [`${pluralize(turns.length, 'turn')} ${turns.length === 1 ? 'leaves' : 'leave'} the conversation`]
      : []
  if (!files) return lines
  const { restore, delete: removed, conflicts } = files
  const none = restore.length + removed.length + conflicts.length === 0
  return [
    ...lines,
    ...restore.map((path) => `restore  ${fullyVisible(path)}`),
    ...removed.map((path) => `delete   ${fullyVisible(path)}`),
    ...conflicts.map(({ path, why }) => `keep     ${fullyVisible(path)}: ${fullyVisible(why)}`),
    ...(conflicts.length > 0 && !force ? ['Add --force to restore these files too; libero undo brings them back'] : []),
    ...(none ? ['No file changes'] : []),
  ]
}

interface PrintOptions {
  readonly io: Io
  readonly session: Session
  readonly values: RewindValues
  readonly turnsWord: string
}

function print({ turns, files }: SessionRollbackResult, { io, session, values, turnsWord }: PrintOptions): number {
  const { failed = [] } = files ?? {}
  const code = failed.length > 0 ? exitCodes.error : exitCodes.done
  if (values.json) {
    io.out(jsonText({ session: session.id, turns, ...(files && { files }) }))
    return code
  }
  if (turns > 0) io.err(`${pluralize(turns, 'turn')} ${turnsWord}`)
  for (const path of files?.restored ?? []) io.err(`restored  ${fullyVisible(path)}`)
  for (const path of files?.deleted ?? []) io.err(`deleted   ${fullyVisible(path)}`)
  for (const { path, why } of files?.conflicts ?? []) io.err(`kept      ${fullyVisible(path)}: ${fullyVisible(why)}`)
  for (const path of failed)
    io.err(`failed    ${fullyVisible(path)}: it could not be restored; see which program uses it, and try again`)
  io.err(`To take this back: libero undo ${fullyVisible(session.id)}`)
  return code
}
