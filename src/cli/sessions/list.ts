import type { SessionQuery, SessionStatus, SessionStore, SessionSummary } from '../../core/store.ts'
import { createRedactor } from '../../platform/redact.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { maxLimit, pageWhere } from '../../sessions/session-query.ts'
import { pluralize, timeAgo } from '../../tui/rows/format.ts'
import { createPaint, hasColours } from '../../tui/terminal/paint.ts'
import { cutToWidth, textWidth } from '../../tui/terminal/text-width.ts'
import { exitCodes, UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../text.ts'
import { type SessionArgs, withStore } from './open-store.ts'
import { realFolder } from './session-folder.ts'
import { isOwnSession } from './session-id.ts'
import { titlesFor, titleWithoutSecrets } from './session-title.ts'
import { statusColour, statusLabel } from './status-label.ts'

const defaultLimit = 30

type ListArgs = SessionArgs<{
  readonly all?: boolean
  readonly status?: readonly string[]
  readonly attention?: boolean
  readonly tag?: readonly string[]
  readonly tenant?: string
  readonly limit?: string
  readonly cursor?: string
  readonly json?: boolean
}>

/** `libero sessions list`: one page of summaries. Opens no session. */
export async function list({ values }: ListArgs, io: Io): Promise<number> {
  const isAll = values.all === true
  const query = queryOf(values, isAll ? undefined : realFolder(io.cwd))
  return withStore(io, async (store) => {
    const { sessions, next } = await pageOf(store, query)
    if (values.json) {
      io.out(jsonText({ sessions: sessions.map(withSafeTitle(io)), ...(next !== undefined && { next }) }))
      return exitCodes.done
    }
    for (const line of table(sessions, io, isAll)) io.out(line)
    if (sessions.length === 0) io.err(await whyNone(store, query))
    if (next !== undefined)
      io.err(`There are older ones: libero sessions list${isAll ? ' --all' : ''} --limit ${query.limit! * 4}`)
    return exitCodes.done
  })
}

function queryOf({ status, attention, tag, tenant, ...values }: ListArgs['values'], folder?: string): SessionQuery {
  const limit = Number(values.limit ?? defaultLimit)
  if (limit > maxLimit)
    throw new UsageError(`--limit can be at most ${maxLimit}, got ${limit}; use --json and --cursor`)
  return {
    ...{ parent: null, limit },
    ...(folder !== undefined && { folder }),
    ...(status && { status: status as readonly SessionStatus[] }),
    ...(attention && { attention }),
    ...(tag && { tags: tag }),
    ...(tenant !== undefined && { tenant }),
    ...(values.cursor !== undefined && { cursor: values.cursor }),
  }
}

async function pageOf(store: SessionStore, query: SessionQuery): ReturnType<typeof pageWhere> {
  try {
    return await pageWhere(store, query, isOwnSession)
  } catch (error) {
    if (query.cursor !== undefined && error instanceof TypeError)
      throw new UsageError('--cursor must be the "next" of the page before', { cause: error })
    throw error
  }
}

async function whyNone(store: SessionStore, query: SessionQuery): Promise<string> {
  const { folder, status, attention, tags, tenant, cursor } = query
  if ([status, attention, tags, tenant, cursor].some((one) => one !== undefined)) return 'No session matches'
  const others = folder === undefined ? [] : (await pageOf(store, { parent: null, limit: 1 })).sessions
  return others.length > 0
    ? 'No session was begun in this folder; libero sessions list --all shows those of other folders'
    : 'There are no sessions yet; begin one with libero "task"'
}

/** JSON escapes control characters. */
function withSafeTitle({ env }: Pick<Io, 'env'>): (session: SessionSummary) => SessionSummary {
  const redactor = createRedactor({ env })
  return (session) => ({ ...session, ...(session.title && { title: titleWithoutSecrets(session.title, redactor) }) })
}

function table(sessions: readonly SessionSummary[], { stdout, env }: Io, isAll: boolean): string[] {
  const paint = createPaint({ colours: hasColours(stdout, env) })
  const title = titlesFor(env)
  const now = Date.now()
  const columns: Column[] = [
    { text: ({ id }) => visibleName(id), style: () => paint.bold },
    { text: ({ updatedAt }) => timeAgo(updatedAt, now), style: () => paint.dim },
    { text: ({ turns }) => pluralize(turns, 'turn'), style: () => paint.dim },
    { text: statusLabel, style: (session) => paint[statusColour(session) ?? 'dim'] },
    { text: title, style: () => String },
    { text: ({ tags }) => tags.map((tag) => `#${visibleName(tag)}`).join(' '), style: () => paint.dim },
    ...(isAll ? [{ text: ({ folder = '' }: SessionSummary) => visibleName(folder), style: () => paint.dim }] : []),
  ]
  const widths = columns.map(({ text }) => Math.max(0, ...sessions.map((one) => textWidth(text(one)))))
  const used = columns.filter((_, i) => widths[i]! > 0)
  return sessions.map((one) => {
    const cells = used.map(({ text, style }, i) => {
      const width = widths[columns.indexOf(used[i]!)]!
      return style(one)(i === used.length - 1 ? text(one) : padded(text(one), width))
    })
    const line = cells.join('  ').trimEnd()
    return stdout.isTTY ? cutToWidth(line, stdout.columns ?? 80) : line
  })
}

interface Column {
  text(session: SessionSummary): string
  style(session: SessionSummary): (text: string) => string
}

const padded = (cell: string, width: number): string => cell + ' '.repeat(Math.max(0, width - textWidth(cell)))
