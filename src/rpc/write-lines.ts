/** The output: a Node stream, or an implementation of your own. */
export interface Output {
  /** Calls `done` when more may be written, or with an error if writing failed. */
  write(text: string, done: (error?: Error | null) => void): unknown
  on?(event: 'error' | 'close', listener: (error?: Error) => void): unknown
}

export interface WriteLinesOptions {
  /** Called once when the output is closed; queued lines are dropped. */
  readonly onClosed?: ((error?: Error) => void) | undefined
  /** The text of frames that may be joined while the reader is slow. Default: none are joined. */
  readonly fragmentOf?: ((frame: object) => TextFragment | undefined) | undefined
  /** With more queued characters `ready` returns a promise. Default 1 MiB. */
  readonly mostQueued?: number | undefined
}

/** The text of a frame; neighbouring frames with the same key may be joined. */
export interface TextFragment {
  readonly key: string
  readonly text: string
  /** The frame with another text. */
  with(text: string): object
}

/** The only writer of an output. It keeps the order, loses nothing, and makes streams wait for a slow reader. */
export interface LineWriter {
  write(frame: object): void
  /** A promise to wait for while more than `most` characters are queued, else undefined. */
  ready(most?: number): Promise<void> | undefined
  /** Resolves when all is written, or the output is closed. */
  drained(): Promise<void>
  readonly isClosed: boolean
}

interface Waiting {
  readonly most: number
  readonly go: () => void
}

/** Writes frames, one write at a time. Neighbouring fragments of one text are joined while they wait. */
export function writeLines(output: Output, options: WriteLinesOptions = {}): LineWriter {
  const { onClosed, fragmentOf: pieceOf, mostQueued = 1024 * 1024 } = options
  let queue: Queued[] = []
  let queued = 0
  let inFlight = 0
  let isPumping = false
  let isClosed = false
  let waiting: Waiting[] = []

  const size = (): number => queued + inFlight

  function close(error?: unknown): void {
    if (isClosed) return
    isClosed = true
    queue = []
    queued = inFlight = 0
    wake()
    onClosed?.(error instanceof Error ? error : undefined)
  }

  function wake(): void {
    const now = waiting.filter(({ most }) => size() <= most)
    if (now.length === 0) return
    waiting = waiting.filter(({ most }) => size() > most)
    for (const { go } of now) go()
  }

  /** A loop, because an output may call `done` synchronously. */
  function pump(): void {
    if (isPumping) return
    isPumping = true
    while (inFlight === 0 && queue.length > 0) send(nextBatch())
    isPumping = false
  }

  function nextBatch(): string {
    let text = ''
    let taken = 0
    while (taken < queue.length && (taken === 0 || text.length < batchSize)) {
      const one = queue[taken++]!
      queued -= one.size
      text += lineOf(one)
    }
    queue.splice(0, taken)
    return text
  }

  function send(text: string): void {
    inFlight = text.length
    let isDone = false
    const done = (error?: Error | null): void => {
      if (isDone || isClosed) return
      isDone = true
      inFlight = 0
      if (error) close(error)
      wake()
      pump()
    }
    try {
      output.write(text, done)
    } catch (error) {
      close(error)
    }
  }

  output.on?.('error', close)
  output.on?.('close', close)

  function until(most: number): Promise<void> | undefined {
    if (isClosed || size() <= most) return undefined
    return new Promise((go) => waiting.push({ most, go }))
  }

  return {
    write(frame) {
      if (isClosed) return
      const piece = pieceOf?.(frame)
      const last = queue.at(-1)
      const joins = piece && last && 'piece' in last && canJoin(last, piece)
      if (joins) last.text += piece.text
      else queue.push(piece ? { piece, text: piece.text, size: 0 } : { line: writeFrame(frame), size: 0 })
      const one = queue.at(-1)!
      const before = one.size
      one.size = 'line' in one ? one.line.length : one.text.length + overhead
      queued += one.size - before
      pump()
    },
    ready: (most = mostQueued) => until(most),
    drained: async () => until(0),
    get isClosed() {
      return isClosed
    },
  }
}

/**
 * With more queued characters no commands are read. Four times the limit of the agent, so that an abort is still read after
 * the agent has filled its part.
 */
export const mostUnread = 4 * 1024 * 1024

/** The approximate size of one write; a longer line is written alone. */
const batchSize = 64 * 1024
/** The longest joined text, for readers with a small buffer. */
const mostJoined = 64 * 1024

/** The approximate size of a frame without its text. */
const overhead = 40

type Queued = { size: number } & ({ readonly line: string } | QueuedPiece)

interface QueuedPiece {
  readonly piece: TextFragment
  text: string
}

const canJoin = (last: QueuedPiece, { key, text }: TextFragment): boolean =>
  last.piece.key === key && last.text.length + text.length <= mostJoined

const lineOf = (queued: Queued): string => ('line' in queued ? queued.line : writeFrame(queued.piece.with(queued.text)))

/**
 * A frame as one line with its LF. Keys are sorted, as in zot, so that transcripts can be compared. Half surrogate pairs,
 * which strict readers refuse, are replaced; U+2028 and U+2029, at which some readers break lines, are escaped.
 */
export function writeFrame(frame: object): string {
  return `${JSON.stringify(frame, inOrder).replace(lineSeparators, escaped)}\n`
}

function inOrder(_: string, value: unknown): unknown {
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed()
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

const lineSeparators = /[\u2028\u2029]/g
const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16)}`
