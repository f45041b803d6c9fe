/** A frame as a client reads it: anything with a type. */
export type Frame = Readonly<Record<string, unknown>> & { readonly type: string }

/** The frames of a turn with text and no calls. */
export const plainTurn = ['turn_start', 'assistant_start', 'text_delta', 'usage', 'assistant_message', 'turn_end']

interface GrammarOptions {
  /** As `--json "prompt"`: no responses, and an `error` may be the last frame. */
  readonly isOneShot?: boolean
  /** The last prompt may still be at work. */
  readonly isUnfinished?: boolean
  /** The model writes JSON with errors, which are repaired before the call. */
  readonly hasSlips?: boolean
}

/**
 * The problems of a list of frames, by the order of SPEC C5 and the fields of C4; empty if there are none. Responses to
 * short commands may be anywhere; prompts and compactions follow each other.
 */
export function checkGrammar(frames: readonly Frame[], options: GrammarOptions = {}): string[] {
  const checker = new Checker(options)
  frames.forEach((frame, i) => {
    checker.take(frame, i)
  })
  checker.end()
  return checker.problems
}

/** The expected next frame. */
type Phase = 'idle' | 'begun' | 'turn' | 'stream' | 'counted' | 'said' | 'tools' | 'over' | 'compact' | 'failed'

class Checker {
  readonly problems: string[] = []
  readonly #options: GrammarOptions
  #phase: Phase
  #at = 0
  #step = 0
  #writing = new Map<string, string>()
  #written = new Map<string, string>()
  #said: unknown[] = []
  #calls: Frame[] = []
  #open: string[] = []
  #input = 0
  #hasFailed = false

  constructor(options: GrammarOptions) {
    this.#options = options
    this.#phase = options.isOneShot ? 'begun' : 'idle'
  }

  take(frame: Frame, i: number): void {
    this.#at = i
    this.#fields(frame)
    const rule = this.#rules[frame.type]
    if (rule) rule(frame)
    else this.#complain(`unknown type ${frame.type}`)
  }

  end(): void {
    if (this.#options.isUnfinished) return
    const mayStop = this.#phase === 'idle' || (this.#options.isOneShot && this.#phase === 'failed')
    if (!mayStop) this.#complain(`it ends in phase ${this.#phase}`)
  }

  #complain(what: string): void {
    this.problems.push(`frame ${this.#at}: ${what}`)
  }

  #expect(frame: Frame, ...phases: Phase[]): void {
    if (!phases.includes(this.#phase)) this.#complain(`${frame.type} in phase ${this.#phase}`)
  }

  readonly #rules: Record<string, (frame: Frame) => void> = {
    response: (frame) => {
      if (this.#options.isOneShot) this.#complain('a response without a command')
      const isLong = frame.command === 'prompt' || frame.command === 'compact'
      if (!isLong || frame.success !== true) return
      this.#expect(frame, 'idle')
      this.#phase = frame.command === 'prompt' ? 'begun' : 'compact'
      this.#step = 0
    },
    user_message: (frame) => {
      this.#expect(frame, 'begun')
      this.#phase = 'over'
    },
    turn_start: (frame) => {
      this.#expect(frame, 'over')
      if (this.#hasFailed) this.#complain('a turn after one that failed')
      if (this.#open.length > 0) this.#complain(`calls without a result: ${this.#open}`)
      if (frame.step !== ++this.#step) this.#complain(`step ${frame.step}, expected ${this.#step}`)
      this.#phase = 'turn'
      this.#written = new Map()
      this.#said = []
      this.#calls = []
    },
    assistant_start: (frame) => {
      this.#expect(frame, 'turn')
      this.#phase = 'stream'
    },
    text_delta: (frame) => this.#expect(frame, 'stream'),
    tool_use_start: (frame) => {
      this.#expect(frame, 'stream')
      if (this.#writing.has(String(frame.id))) this.#complain(`call ${frame.id} begins twice`)
      this.#writing.set(String(frame.id), '')
    },
    tool_use_args: (frame) => {
      this.#expect(frame, 'stream')
      const id = String(frame.id)
      if (!this.#writing.has(id)) this.#complain(`arguments of ${id}, which has not begun`)
      this.#writing.set(id, this.#writing.get(id) + String(frame.delta))
    },
    tool_use_end: (frame) => {
      this.#expect(frame, 'stream')
      const id = String(frame.id)
      if (!this.#writing.has(id)) this.#complain(`the end of ${id}, which has not begun`)
      this.#written.set(id, this.#writing.get(id) ?? '')
      this.#writing.delete(id)
    },
    usage: (frame) => {
      this.#expect(frame, 'stream')
      if (this.#writing.size > 0) this.#complain(`calls that do not end: ${[...this.#writing.keys()]}`)
      this.#writing = new Map()
      const { input } = frame.cumulative as { input: number }
      if (input < this.#input + Number(frame.input)) this.#complain('cumulative is less than the sum')
      this.#input = input
      this.#phase = 'counted'
    },
    assistant_message: (frame) => {
      this.#expect(frame, 'counted')
      this.#said = (frame.content as Frame[]).filter(({ type }) => type === 'tool_call')
      this.#phase = 'said'
    },
    tool_call: (frame) => {
      this.#expect(frame, 'said')
      this.#calls.push(frame)
      const written = this.#written.get(String(frame.id))
      if (written === undefined) this.#complain(`tool_call ${frame.id} without tool_use_start`)
      else if (frame.args !== null && !isSame(this.#read(written) ?? frame.args, frame.args))
        this.#complain(`the streamed arguments of ${frame.id} are not its args`)
    },
    turn_end: (frame) => {
      const hasFailed = frame.stop === 'error' || frame.stop === 'aborted'
      this.#expect(frame, ...(hasFailed ? (['turn', 'counted', 'said'] as const) : (['said'] as const)))
      if (hasFailed !== (typeof frame.error === 'string'))
        this.#complain(`stop ${frame.stop} with error ${frame.error}`)
      if (!isSame(this.#said, this.#calls)) this.#complain('tool_calls differ from those of the message')
      if (this.#calls.length > 0 !== (frame.stop === 'tool_use')) this.#complain(`stop ${frame.stop}`)
      this.#open = this.#calls.map(({ id }) => String(id))
      this.#hasFailed = hasFailed
      this.#phase = 'over'
    },
    tool_progress: (frame) => {
      this.#expect(frame, 'over')
      if (!this.#open.includes(String(frame.id))) this.#complain(`progress of ${frame.id}, which is not open`)
    },
    tool_result: (frame) => {
      this.#expect(frame, 'over')
      const next = this.#open.shift()
      if (frame.id !== next) this.#complain(`the result of ${frame.id}, expected that of ${next}`)
    },
    error: (frame) => {
      this.#expect(frame, 'begun', 'over', 'compact')
      if (this.#open.length > 0) this.#complain(`calls without a result: ${this.#open}`)
      this.#phase = 'failed'
    },
    done: (frame) => {
      this.#expect(frame, 'begun', 'over', 'failed', 'compact')
      if (this.#open.length > 0) this.#complain(`calls without a result: ${this.#open}`)
      this.#open = []
      this.#hasFailed = false
      this.#phase = 'idle'
    },
    compact_done: (frame) => {
      this.#expect(frame, 'compact')
      this.#phase = 'idle'
    },
  }

  #read(json: string): unknown {
    try {
      return json.trim() === '' ? {} : JSON.parse(json)
    } catch {
      return this.#options.hasSlips ? undefined : 'no JSON'
    }
  }

  #fields(frame: Frame): void {
    const shape = shapes[frame.type]
    if (!shape) return
    const names = Object.keys(frame)
    const allowed = shape.map((name) => name.replace('?', ''))
    const missing = shape.filter((name) => !name.endsWith('?') && !(name in frame))
    const unknown = names.filter((name) => name !== 'type' && !allowed.includes(name))
    if (missing.length > 0) this.#complain(`${frame.type} without ${missing}`)
    if (unknown.length > 0) this.#complain(`${frame.type} with ${unknown}`)
    if (!isSame(names, names.toSorted())) this.#complain(`${frame.type} has its keys out of order: ${names}`)
    if ('time' in frame && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|[+-]\d\d:\d\d)$/.test(String(frame.time)))
      this.#complain(`${frame.type} with time ${frame.time}`)
    if ('jsonrpc' in frame) this.#complain('jsonrpc')
  }
}

const shapes: Record<string, readonly string[]> = {
  response: ['command', 'success', 'id?', 'data?', 'error?'],
  user_message: ['content', 'time', 'unconfined?'],
  turn_start: ['step'],
  assistant_start: [],
  text_delta: ['delta'],
  tool_use_start: ['id', 'name'],
  tool_use_args: ['id', 'delta'],
  tool_use_end: ['id'],
  usage: ['input', 'output', 'cache_read', 'cache_write', 'cost_usd', 'cumulative'],
  assistant_message: ['content', 'time'],
  tool_call: ['id', 'name', 'args'],
  turn_end: ['stop', 'error?'],
  tool_progress: ['id', 'text'],
  tool_result: ['id', 'is_error', 'content'],
  error: ['message'],
  done: [],
  compact_done: ['summary'],
}

/** The order of keys does not matter. */
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  )
}
