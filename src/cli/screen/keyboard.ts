import { closeSync, constants, openSync } from 'node:fs'
import { ReadStream } from 'node:tty'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { Io } from '../io.ts'
import { createKeyDecoder, type Key } from './key-decoder.ts'

/** What a person types, one key at a time. */
export interface Keyboard {
  /** Raw mode from here until the returned function is called. One reader at a time; a second waits for nothing and throws. */
  read(listener: (key: Key) => void): () => void
  close(): void
}

/** `stderr` is where pastes are asked for; without it nothing but stdin can be typed into. */
type KeyboardIo = Pick<Io, 'stdin'> & Partial<Pick<Io, 'stderr'>>

interface KeyboardOptions {
  readonly clock?: Clock
  /** Opens the terminal the process belongs to, where stdin is none. Default `/dev/tty`. */
  readonly openTerminal?: () => TypingStream | undefined
}

type TypingStream = Io['stdin'] & { ref?(): unknown; unref?(): unknown }

/** Undefined where nobody can type: stdin is no terminal, nor is there a controlling one. */
export function openKeyboard(io: KeyboardIo, options: KeyboardOptions = {}): Keyboard | undefined {
  const { clock = systemClock, openTerminal = openControllingTerminal } = options
  const isStdin = canBeTypedInto(io.stdin)
  const stream: TypingStream | undefined = isStdin ? io.stdin : io.stderr?.isTTY ? openTerminal() : undefined
  if (!stream) return undefined
  const tell = (sequence: string): void => void (io.stderr?.isTTY && io.stderr.write(sequence))
  let stop: (() => void) | undefined
  let isClosed = false

  return {
    read(listener) {
      if (stop || isClosed)
        throw new Error(
          `the keyboard is ${stop ? 'being read by somebody else' : 'closed'}; read when the other one is done`,
        )
      const decoder = createKeyDecoder((key) => stop === release && listener(key), clock)
      const onData = (chunk: Uint8Array | string): void => decoder.push(chunk)
      // Nobody will ever type here again.
      const onGone = (): void => void (stop === release && listener({ type: 'ctrl', key: 'c' }))
      const release = (): void => {
        if (stop !== release) return
        stop = undefined
        decoder.reset()
        stream.off('data', onData).off('end', onGone).off('error', onGone)
        rest(stream)
        tell(pastesOff)
      }
      stop = release
      stream.on('data', onData).on('end', onGone).on('error', onGone)
      stream.setRawMode?.(true)
      stream.ref?.()
      stream.resume()
      tell(pastesOn)
      if (stream.readableEnded || stream.destroyed) setImmediate(onGone) // it told an earlier reader, and only once
      return release
    },
    close() {
      stop?.()
      if (isClosed) return
      isClosed = true
      if (!isStdin) stream.destroy()
    },
  }
}

const pastesOn = '\x1b[?2004h'
const pastesOff = '\x1b[?2004l'

const canBeTypedInto = (stdin: Io['stdin']): boolean => stdin.isTTY === true && typeof stdin.setRawMode === 'function'

/** As it was, and no reason for the process to stay. */
function rest(stream: TypingStream): void {
  stream.pause()
  stream.unref?.()
  try {
    stream.setRawMode?.(false)
  } catch {
    // A terminal that is gone has no mode.
  }
}

function openControllingTerminal(): TypingStream | undefined {
  if (process.platform === 'win32') return undefined
  let fd: number | undefined
  try {
    fd = openSync('/dev/tty', constants.O_RDONLY | constants.O_NOCTTY)
    const stream = new ReadStream(fd)
    stream.on('error', () => {})
    stream.unref()
    return stream
  } catch {
    if (fd !== undefined) closeSync(fd)
    return undefined
  }
}
