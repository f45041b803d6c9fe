import {
  type LogEntry,
  type RemoteClient,
  type RemoteContent,
  type RemoteEvent,
  RemoteProblem,
  type RemoteSession,
  type SessionView,
} from '../libero.ts'
import { backOff, isAway } from './back-off.ts'
import { Cell, type Model } from './model.ts'
import type { Outbox, OutboxMessage } from './outbox.ts'
import { itemsOf, type RowItem } from './row-items.ts'
import { sendWithFiles } from './send-with-files.ts'
import { createSessionFold, type SessionFold } from './session-fold.ts'

/** One session, as its log tells it, read from its end and followed from then on. */
export interface SessionModel extends Model<SessionState> {
  readonly id: string
  start(): void
  stop(): void
  /** Connects anew at once, as after sleep. */
  wake(): void
  /**
   * Sends a message with the files that it names. It is shown at once, and stays shown as failed if it could not be sent.
   * Resolves with what was not attached, in words.
   */
  send(content: RemoteContent, options?: { readonly mode?: 'steer' | 'followUp' }): Promise<readonly string[]>
  /** Sends a message that could not be sent once more, under its key: it is one message also if the server had it. */
  sendAgain(key: string): Promise<readonly string[]>
  /** Forgets a message that could not be sent. */
  dismiss(key: string): void
  /** Shows the session as it was after an entry, or as it is now. */
  lookAt(seq: number | undefined): Promise<void>
  /** An entry as the log has it. */
  entry(seq: number): Promise<LogEntry>
  readonly isCut: SessionFold['isCut']
  readonly endOf: SessionFold['endOf']
}

export interface SessionState {
  readonly view: SessionView
  readonly items: readonly RowItem[]
  /** Undefined until it was read. */
  readonly summary: RemoteSession | undefined
  /** Nothing was read yet. */
  readonly isLoading: boolean
  /** All entries are in the view. */
  readonly isWhole: boolean
  /** Rows up to this entry are no longer sent to the model; 0 if all are. */
  readonly sentFrom: number
  /** The number of the last entry of the log. */
  readonly head: number
  /** The entry that the view ends with, if it shows the past. */
  readonly pastSeq?: number | undefined
  /** A run is at work in a process that does not pass on what it streams. */
  readonly isWithoutDeltas: boolean
  /** Messages that the log does not have yet. */
  readonly sending: readonly OutboxMessage[]
  /** Why the session cannot be shown. */
  readonly problem?: unknown
}

type InboxMessage = Extract<RemoteEvent, { type: 'inbox' }>['message']

interface SessionModelOptions {
  /** Calls back before the next picture is drawn. */
  readonly nextFrame: (callback: () => void) => void
  /** Lets the browser do what it has to do. */
  readonly pause: () => Promise<void>
  readonly outbox: Outbox
}

export function createSessionModel(
  client: RemoteClient,
  id: string,
  { nextFrame, pause, outbox }: SessionModelOptions,
): SessionModel {
  let fold = createSessionFold()
  /** No screen shows it any more. */
  let isOver = false
  let following: AbortController | undefined
  let past: SessionView | undefined
  let history: ReturnType<typeof import('./past-views.ts').pastViews> | undefined
  let isPublishing = false
  /** Something was streamed since the last reply. */
  let hasHeard = false
  let isWithoutDeltas = false
  /** Messages that were accepted while this page listened, some of them taken back since. */
  const accepted = new Set<string | undefined>()
  const cell = new Cell<SessionState>({
    view: fold.view,
    items: [],
    summary: undefined,
    isLoading: true,
    isWhole: false,
    head: 0,
    sentFrom: 0,
    isWithoutDeltas: false,
    sending: [],
  })

  /** Once a frame, however much comes. */
  const publish = (): void => {
    if (isPublishing) return
    isPublishing = true
    nextFrame(() => {
      isPublishing = false
      publishNow()
    })
  }

  const publishNow = (): void => {
    const { isWhole } = fold
    const view = past ?? fold.view
    const { state } = cell
    const items = itemsOf(view.rows, state.items.length > 0 ? { rows: state.view.rows, items: state.items } : undefined)
    const sending = withoutArrived(state.sending, view, accepted)
    for (const one of state.sending) if (!sending.includes(one)) outbox.remove(one.key)
    const sentFrom = items === state.items ? state.sentFrom : summarisedTo(view)
    cell.set({
      ...state,
      view,
      items,
      sentFrom,
      isWhole,
      isWithoutDeltas,
      sending,
      pastSeq: past?.head,
      head: fold.view.head,
      isLoading: false,
    })
  }

  async function follow(signal: AbortSignal): Promise<void> {
    for await (const event of client.events(id, { after: fold.view.head, children: true, inbox: true, signal })) {
      if (event.durable) hearEntry(event.entry)
      else if (event.type === 'inbox') addWaitingMessage(event.message)
      else if (event.type !== 'child') {
        hasHeard = true
        isWithoutDeltas = false
      }
      fold.apply(event)
      publish()
    }
  }

  /** The server has a message of this or another tab. */
  function addWaitingMessage({ clientKey: key, content }: InboxMessage): void {
    outbox.remove(key)
    cell.change({ sending: [...othersThan(key), { key, content: content as RemoteContent, isAccepted: true }] })
  }

  function hearEntry(entry: LogEntry): void {
    if ('clientKey' in entry) accepted.add(entry.clientKey)
    if (entry.type === 'turn' && entry.turn.role === 'assistant') {
      isWithoutDeltas ||= !hasHeard
      hasHeard = false
    }
    if (entry.type === 'run_ended') isWithoutDeltas = false
    // If this fails, the header shows the summary from before until the next of these entries.
    if (entry.type === 'details' || entry.type === 'run_ended') readSummary().catch(() => {})
  }

  async function readSummary(): Promise<void> {
    cell.change({ summary: await client.sessions.get(id) })
  }

  /** What is before the end, page by page, and without keeping the browser from drawing. */
  async function readWhole(signal: AbortSignal, tries = 0): Promise<void> {
    try {
      while (!fold.isWhole && !signal.aborted) {
        const { entries } = await client.sessions.entries(id, { after: fold.readTo, limit: pageSize })
        if (signal.aborted || entries.length === 0) return
        for (let at = 0; at < entries.length; at += portion) {
          if (fold.addRead(entries.slice(at, at + portion))) publishNow()
          await pause()
        }
      }
    } catch (problem) {
      // What is shown already stays, and goes on live.
      if (!isAway(problem) && (problem as RemoteProblem).status !== 500) throw problem
      await backOff(tries)
      return readWhole(signal, tries + 1)
    }
  }

  async function run(signal: AbortSignal, tries = 0): Promise<void> {
    try {
      if (cell.state.isLoading) {
        const [{ entries }] = await Promise.all([
          client.sessions.entries(id, { limit: endSize, fromEnd: true }),
          readSummary(),
        ])
        if (signal.aborted) return
        fold.begin(entries)
        publishNow()
      }
      await Promise.all([follow(signal), readWhole(signal)])
    } catch (problem) {
      if (signal.aborted) return
      if (problem instanceof RemoteProblem && problem.code === 'beyond_head') return restart()
      const isWorthIt = isAway(problem) || ((problem as RemoteProblem).status === 500 && tries < mostTries)
      if (!isWorthIt) return cell.change({ problem, isLoading: false })
      stop()
      await backOff(tries)
      start(tries + 1)
    }
  }

  /** The log is shorter than what was read, as after a copy of the store was put back: it is read anew. */
  function restart(): void {
    stop()
    fold = createSessionFold()
    accepted.clear()
    cell.change({
      isLoading: true,
      items: [],
      view: fold.view,
      sending: cell.state.sending.filter((one) => !one.isAccepted),
    })
    start()
  }

  const isSending = (key: string): boolean => cell.state.sending.some((one) => one.key === key)
  const othersThan = (key: string): readonly OutboxMessage[] => cell.state.sending.filter((one) => one.key !== key)

  const keep = (message: OutboxMessage): void => {
    outbox.add(message)
    cell.change({ sending: [...othersThan(message.key), message] })
  }

  async function deliver(message: OutboxMessage): Promise<readonly string[]> {
    keep(message)
    try {
      const { notices = [] } = await sendWithFiles(client, id, message)
      outbox.remove(message.key)
      const accepted = (one: OutboxMessage): OutboxMessage => (one === message ? { ...one, isAccepted: true } : one)
      cell.change({ sending: cell.state.sending.map(accepted) })
      return notices
    } catch (error) {
      keep({ ...message, problem: error instanceof RemoteProblem ? error.detail : String(error) })
      throw error
    } finally {
      if (!cell.state.isLoading) publish() // the log may have had it before the answer came
    }
  }

  /** What the page before this one had under way is sent; what had failed is shown. */
  function takeFromOutbox(): void {
    for (const message of outbox.all()) {
      if (isSending(message.key)) continue
      if (message.problem === undefined) void deliver(message).catch(() => {})
      else cell.change({ sending: [...cell.state.sending, message] })
    }
  }

  function start(tries = 0): void {
    if (following || isOver) return
    if (cell.state.problem) cell.change({ problem: undefined, isLoading: fold.view.head === 0 })
    takeFromOutbox()
    following = new AbortController()
    void run(following.signal, tries)
  }

  function stop(): void {
    following?.abort()
    following = undefined
  }

  return {
    id,
    get state() {
      return cell.state
    },
    subscribe: (listener) => cell.subscribe(listener),
    start() {
      isOver = false
      start()
    },
    stop() {
      isOver = true
      stop()
    },
    wake() {
      stop()
      start()
    },
    send: (content, { mode } = {}) => deliver({ key: crypto.randomUUID(), content, ...(mode && { mode }) }),
    async sendAgain(key) {
      const failed = cell.state.sending.find((one) => one.key === key)
      if (failed?.problem === undefined) return []
      const { problem: _, ...message } = failed
      return deliver(message)
    },
    dismiss(key) {
      outbox.remove(key)
      cell.change({ sending: othersThan(key) })
    },
    async lookAt(seq) {
      history ??= (await import('./past-views.ts')).pastViews(client, id)
      past = seq === undefined ? undefined : await history.at(seq)
      publishNow()
    },
    async entry(seq) {
      const { entries } = await client.sessions.entries(id, { after: seq - 1, limit: 1 })
      const [entry] = entries
      if (entry?.seq !== seq) throw new RangeError(`The session has no entry ${seq}; reload the page`)
      return entry
    },
    isCut: (seq) => fold.isCut(seq),
    endOf: (result) => fold.endOf(result),
  }
}

/** Of a server that answers and fails: for about fifteen seconds. */
const mostTries = 5
/** Entries of the end that are read first: some screens full. */
const endSize = 200
const pageSize = 500
/** Entries folded at once: some milliseconds. */
const portion = 250

/** The last entry that a summary stands for. */
function summarisedTo({ rows }: SessionView): number {
  for (let at = rows.length - 1; at >= 0; at--) {
    const row = rows.at(at)!
    if (row.kind === 'compaction') return row.toSeq
  }
  return 0
}

function withoutArrived(
  sending: readonly OutboxMessage[],
  { queue, rows }: SessionView,
  accepted: ReadonlySet<string | undefined>,
): readonly OutboxMessage[] {
  if (sending.length === 0) return sending
  const arrived = new Set([...accepted, ...queue.map(({ clientKey }) => clientKey)])
  for (let at = rows.length - 1; at >= Math.max(0, rows.length - 200); at--) {
    const row = rows.at(at)!
    if (row.kind === 'message' && row.clientKey !== undefined) arrived.add(row.clientKey)
  }
  return sending.some(({ key }) => arrived.has(key)) ? sending.filter(({ key }) => !arrived.has(key)) : sending
}
