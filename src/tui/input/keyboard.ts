import { closeSync, constants, openSync } from 'node:fs'
import { ReadStream } from 'node:tty'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { TerminalStreams } from '../terminal/output.ts'
import { createKeyDecoder, type Key } from './key-decoder.ts'

export interface Keyboard {
  /** Reads keys in raw mode until the returned function is called. Throws if there is a reader already. */
  read(listener: (key: Key) => void): () => void
  close(): void
}

/**
 * What the terminal is asked for while keys are read. `pastes`: marks around pasted text. `all`: also keys with
 * modifiers, by the kitty protocol or modifyOtherKeys, and when the terminal gains or loses the focus. What a terminal
 * does not know it ignores, except that some take the modifyOtherKeys sequences for colours: those are reset.
 */
export const keyboardModes = {
  pastes: { on: '\x1b[?2004h', off: '\x1b[?2004l' },
  all: {
    on: '\x1b[?2004h\x1b[>1u\x1b[>4;2m\x1b[0m\x1b[?1004h',
    off: '\x1b[?1004l\x1b[>4m\x1b[0m\x1b[<u\x1b[?2004l',
  },
} as const

/** Bracketed paste is switched on through `stderr`; without it only stdin can be a keyboard. */
type KeyboardIo = Pick<TerminalStreams, 'stdin'> & Partial<Pick<TerminalStreams, 'stderr'>>

interface KeyboardOptions {
  readonly clock?: Clock
  /** Default `pastes`. */
  readonly modes?: keyof typeof keyboardModes
  /** Opens the controlling terminal when stdin is not a terminal. Default `/dev/tty`. */
  readonly openTerminal?: () => TypingStream | undefined
}

type TypingStream = TerminalStreams['stdin'] & { ref?(): unknown; unref?(): unknown }

/** `undefined` if neither stdin is a terminal nor the process has a controlling one. */
export function openKeyboard(io: KeyboardIo, options: KeyboardOptions = {}): Keyboard | undefined {
  const { clock = systemClock, modes = 'pastes', openTerminal = openControllingTerminal } = options
  const isStdin = canBeTypedInto(io.stdin)
  const stream: TypingStream | undefined = isStdin ? io.stdin : io.stderr?.isTTY ? openTerminal() : undefined
  if (!stream) return undefined
  const send = (sequence: string): void => void (io.stderr?.isTTY && io.stderr.write(sequence))
  let stop: (() => void) | undefined
  let isClosed = false

  return {
    read(listener) {
      if (stop || isClosed)
        throw new Error(
          stop
            ? 'the keyboard already has a reader; read when that one is done'
            : 'the keyboard is closed; open it again',
        )
      const decoder = createKeyDecoder((key) => stop === release && listener(key), clock)
      const onData = (chunk: Uint8Array | string): void => decoder.push(chunk)
      // The terminal is gone.
      const onGone = (): void => void (stop === release && listener({ type: 'ctrl', key: 'c' }))
      const release = (): void => {
        if (stop !== release) return
        stop = undefined
        decoder.reset()
        stream.off('data', onData).off('end', onGone).off('error', onGone)
        restore(stream)
        send(keyboardModes[modes].off)
      }
      stop = release
      stream.on('data', onData).on('end', onGone).on('error', onGone)
      stream.setRawMode?.(true)
      stream.ref?.()
      stream.resume()
      send(keyboardModes[modes].on)
      if (stream.readableEnded || stream.destroyed) setImmediate(onGone) // the event was emitted for an earlier reader
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

const canBeTypedInto = (stdin: TerminalStreams['stdin']): boolean =>
  stdin.isTTY === true && typeof stdin.setRawMode === 'function'

/** Leaves raw mode and lets the process end. */
function restore(stream: TypingStream): void {
  stream.pause()
  stream.unref?.()
  try {
    stream.setRawMode?.(false)
  } catch {
    // The terminal is gone.
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
