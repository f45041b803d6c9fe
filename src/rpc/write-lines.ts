import { writeFrame } from './write-frame.ts'

/** Where lines go: any stream of Node's, or something of your own. */
export interface Output {
  /** Calls `done` when the text is on its way and more may come, with an error if it never will be. */
  write(text: string, done: (error?: Error | null) => void): unknown
  on?(event: 'error' | 'close', listener: (error?: Error) => void): unknown
}

export interface WriteLinesOptions {
  /** Told once when nobody reads any more; what was still to be written is dropped. */
  readonly onClosed?: ((error?: Error) => void) | undefined
  /** Which frames are pieces that may be joined while the reader is slow; without it none are. */
  readonly pieceOf?: ((frame: object) => Piece | undefined) | undefined
  /** From how many queued characters on `ready` makes whoever streams wait. Default 1 MiB. */
  readonly mostQueued?: number | undefined
}

/** A frame that is part of a text; neighbours with the same key may become one. */
export interface Piece {
  readonly key: string
  readonly text: string
  /** The same frame with another text. */
  with(text: string): object
}

/** The only writer of an output: nothing is lost, nothing overtakes, and a slow reader makes the others wait. */
export interface LineWriter {
  write(frame: object): void
  /** Nothing, or a promise to wait for while too much is queued: more than `most`, if that is given. */
  ready(most?: number): Promise<void> | undefined
  /** Resolves when all is written, or nobody reads any more. */
  drained(): Promise<void>
  readonly isClosed: boolean
}

interface Waiting {
  readonly most: number
  readonly go: () => void
}

/**
 * Writes frames, one write at a time. What is queued behind it grows by joining: neighbouring pieces of one text become one.
 */
export function writeLines(output: Output, options: WriteLinesOptions = {}): LineWriter {
  const { onClosed, pieceOf, mostQueued = 1024 * 1024 } = options
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

  /** A loop and no recursion: an output may say at once that it is done. */
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
 * From how many queued characters on no more commands are read: four times what makes the agent wait, so that an abort is
 * still heard when the agent has filled its part.
 */
export const mostUnread = 4 * 1024 * 1024

/** What is written at once, about; a longer line is written alone. */
const batchSize = 64 * 1024
/** A joined piece grows no longer, so that a reader with a small buffer can follow. */
const mostJoined = 64 * 1024

/** The rest of a frame around its text, about. */
const overhead = 40

type Queued = { size: number } & ({ readonly line: string } | QueuedPiece)

interface QueuedPiece {
  readonly piece: Piece
  text: string
}

const canJoin = (last: QueuedPiece, { key, text }: Piece): boolean =>
  last.piece.key === key && last.text.length + text.length <= mostJoined

const lineOf = (queued: Queued): string => ('line' in queued ? queued.line : writeFrame(queued.piece.with(queued.text)))
