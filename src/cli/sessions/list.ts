import type { SessionStore } from '../../core/store.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { pluralize, timeAgo } from '../screen/format.ts'
import { createPaint, hasColours } from '../screen/paint.ts'
import { cutToWidth, textWidth } from '../screen/text-width.ts'
import { jsonText } from '../text.ts'
import { newestFirst } from './find-session.ts'
import { withStore } from './open-store.ts'
import { realFolder } from './session-folder.ts'
import { liveState, stateLabels } from './session-state.ts'
import { openSummaryCache, type SessionSummary } from './summary.ts'

const defaultLimit = 30

interface ListArgs {
  readonly values: { readonly all?: boolean; readonly limit?: string; readonly json?: boolean }
}

/** `libero sessions list`. Reads only as many sessions as it shows. */
export async function list({ values }: ListArgs, io: Io): Promise<number> {
  const limit = Number(values.limit ?? defaultLimit)
  const isAll = values.all === true
  const { shown, hasMore, others } = await withStore(io, (store) =>
    newest(store, { limit, cwd: isAll ? undefined : realFolder(io.cwd), io }),
  )
  if (values.json) {
    io.out(jsonText(shown))
    return exitCodes.done
  }
  for (const line of table(shown, io, isAll)) io.out(line)
  if (shown.length === 0)
    io.err(
      others > 0
        ? `No session was begun in this folder; libero sessions list --all shows ${others} of others`
        : 'There are no sessions yet; begin one with libero "task"',
    )
  if (hasMore) io.err(`There are older ones: libero sessions list${isAll ? ' --all' : ''} --limit ${limit * 4}`)
  return exitCodes.done
}

interface Newest {
  readonly shown: SessionSummary[]
  readonly hasMore: boolean
  /** The number of sessions of other folders. */
  readonly others: number
}

/** The most recent sessions, without empty ones. */
async function newest(store: SessionStore, { limit, cwd, io }: ListQuery): Promise<Newest> {
  const all = await store.list()
  const summaries = await openSummaryCache(store, io)
  const shown: SessionSummary[] = []
  let others = 0
  let hasMore = false
  for (const info of newestFirst(all)) {
    const summary = await summaries.of(info).catch(() => damaged(info))
    if (summary.state === 'empty') continue
    if (cwd !== undefined && summary.cwd !== cwd) others++
    else if ((hasMore = shown.length === limit)) break
    else shown.push(await withLiveState(store, summary))
  }
  await summaries.save(all)
  return { shown, hasMore, others }
}

/** The session may have been damaged since its summary was cached. */
async function withLiveState(store: SessionStore, summary: SessionSummary): Promise<SessionSummary> {
  try {
    return { ...summary, state: await liveState(store, summary) }
  } catch {
    return damaged(summary)
  }
}

interface ListQuery {
  readonly limit: number
  /** Only sessions of this folder. */
  readonly cwd: string | undefined
  readonly io: Pick<Io, 'home' | 'env'>
}

const damaged = ({
  id,
  createdAt,
  updatedAt,
}: Pick<SessionSummary, 'id' | 'createdAt' | 'updatedAt'>): SessionSummary => ({
  id,
  ...(createdAt !== undefined && { createdAt }),
  ...(updatedAt !== undefined && { updatedAt }),
  prompts: 0,
  title: '(cannot be read; libero sessions show says why)',
  state: 'failed',
})

function table(
  sessions: readonly SessionSummary[],
  { stdout, env }: Pick<Io, 'stdout' | 'env'>,
  isAll: boolean,
): string[] {
  const paint = createPaint({ colours: hasColours(stdout, env) })
  const now = Date.now()
  const rows = sessions.map((one) => [
    visibleName(one.id),
    one.updatedAt === undefined ? '' : timeAgo(one.updatedAt, now),
    pluralize(one.prompts, 'prompt'),
    stateLabels[one.state],
    visibleName(one.title),
    ...(isAll ? [visibleName(one.cwd ?? '')] : []),
  ])
  const widths = [0, 1, 2, 3, ...(isAll ? [4] : [])].map((i) => Math.max(0, ...rows.map((row) => textWidth(row[i]!))))
  return rows.map((row, n) => {
    const cells = row.map((cell, i) =>
      paintCell(paint, sessions[n]!, i, widths[i] === undefined ? cell : padded(cell, widths[i])),
    )
    const line = cells.join('  ').trimEnd()
    return stdout.isTTY ? cutToWidth(line, stdout.columns ?? 80) : line
  })
}

const padded = (cell: string, width: number): string => cell + ' '.repeat(Math.max(0, width - textWidth(cell)))

function paintCell(
  paint: ReturnType<typeof createPaint>,
  { state }: SessionSummary,
  column: number,
  cell: string,
): string {
  if (column === 0) return paint.bold(cell)
  if (column === 1 || column === 2 || column === 5) return paint.dim(cell)
  if (column !== 3) return cell
  if (state === 'waiting' || state === 'answered' || state === 'parked') return paint.yellow(cell)
  if (state === 'failed' || state === 'interrupted') return paint.red(cell)
  return state === 'running' ? paint.cyan(cell) : paint.dim(cell)
}
