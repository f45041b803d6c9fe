import { type BodyEnding, CallBody } from './call-body.ts'
import { Fence, type FenceEnding, InlineCode } from './quoted-code.ts'
import { parametersText } from './read-parameters.ts'
import {
  endOfSpan,
  type NonCallSpan,
  nonCallSpanAt,
  readTag,
  type Tag,
  type ThoughtTag,
  thoughtTagAt,
} from './read-tag.ts'
import type { Scanned, ScannedCall, ScanOptions } from './text-call-pattern.ts'

/** Scans a complete text. */
export function scan(text: string, options: ScanOptions): Scanned[] {
  const scanner = new CallScanner(options)
  return [...scanner.push(text), ...scanner.end()]
}

/**
 * Finds calls in a text that comes in pieces of any size. Reads each character a bounded number of times, and emits text
 * that cannot be part of a call at once. Quoted calls are text: those in inline code, after a `>`, in thoughts (`<think>`),
 * and those in a fence, unless it holds nothing but calls. The template of many models opens the thought, so that the
 * model only writes its end (`</think>`): then all text before that was a thought.
 */
export class CallScanner {
  readonly #options: ScanOptions
  #out: Scanned[] = []
  #input = ''
  #at = 0
  #isEnd = false

  #gap = ''
  #wasCall = false
  /** A call has begun and not ended. */
  #isStarted = false
  #isParallel = false
  /** A parallel wrapper that was opened, until it is known whether it is one or is only mentioned. */
  #wrapped: { readonly isLine: boolean; readonly gapLength: number } | undefined

  #isLineStart = true
  readonly #code = new InlineCode()
  #ticks = ''
  /** The character of `#ticks`: reading it from a growing text would copy the text each time. */
  #tick = ''
  #span: NonCallSpan | undefined
  #fence: Fence | undefined
  #body: CallBody | undefined
  /** Quotes in parameters were not balanced: from here on the first closing tag ends a call. */
  #isLiteral = false
  /** The tag of a thought in the middle of this line, which may be only mentioned. */
  #mentioned: string | undefined
  #isThoughtOver = false

  constructor(options: ScanOptions) {
    this.#options = options
  }

  push(text: string): Scanned[] {
    this.#input = this.#input.slice(this.#at) + text
    this.#at = 0
    this.#run()
    return this.#takeEvents()
  }

  end(): Scanned[] {
    this.#isEnd = true
    do this.#run()
    while (!this.#finish())
    return this.#takeEvents()
  }

  #takeEvents(): Scanned[] {
    const out = this.#out
    this.#out = []
    return out
  }

  #run(): void {
    while (this.#at < this.#input.length && this.#step());
  }

  /** False if more text is needed. */
  #step(): boolean {
    if (this.#body) return this.#stepBody(this.#body)
    if (this.#fence) return this.#stepFence(this.#fence)
    if (this.#span) return this.#stepSpan(this.#span)
    return this.#stepText()
  }

  #stepText(): boolean {
    const char = this.#input[this.#at]!
    if (this.#ticks !== '' && char !== this.#tick) {
      this.#endTicks()
      return true
    }
    if (char === '`' || char === '~') {
      this.#tick = char
      this.#ticks += this.#match(char === '`' ? backticks : tildes)
      return true
    }
    if (char === '<') return this.#stepTag()
    if (char === '>' && this.#isLineStart) this.#code.quoteLine()
    const space = this.#match(spaces)
    if (space === '') {
      this.#plain(this.#match(plain))
      return true
    }
    this.#gap += space
    if (space.includes('\n')) this.#endLine()
    return true
  }

  #endLine(): void {
    if (this.#code.wasThoughtEnd && !this.#isThoughtOver) this.#endThought()
    this.#isLineStart = true
    this.#mentioned = undefined
    this.#code.end()
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#input)?.[0] ?? ''
    this.#at += found.length
    return found
  }

  #endTicks(): void {
    const ticks = this.#ticks
    this.#ticks = ''
    const mayFence = this.#options.fences !== false && this.#isLineStart && !this.#code.isQuoted
    if (mayFence && ticks.length >= 3) {
      this.#fence = new Fence(ticks, { patterns: this.#options.patterns, isThoughtOver: this.#isThoughtOver })
      return
    }
    if (ticks[0] === '`') this.#code.toggle(ticks.length)
    this.#plain(ticks)
  }

  #stepTag(): boolean {
    const position = { text: this.#input, at: this.#at, isEnd: this.#isEnd }
    const span = this.#isLineStart ? nonCallSpanAt(position) : undefined
    const thought = span ? undefined : thoughtTagAt(position)
    const tag = span ?? readTag(position, this.#options.patterns)
    if (tag === 'more' || thought === 'more') return false
    if (thought) {
      this.#stepThought(thought)
      return true
    }
    if (!tag || this.#code.isQuoted || ('kind' in tag && tag.kind === 'close')) {
      this.#at++
      this.#plain('<')
      return true
    }
    if (!('kind' in tag)) {
      this.#span = tag
      return true
    }
    const source = this.#input.slice(this.#at, tag.end)
    this.#at = tag.end
    if (tag.kind === 'open') this.#open(tag, source)
    else this.#wrap(tag.kind === 'wrap', source)
    return true
  }

  #stepThought({ kind, name, end }: ThoughtTag): void {
    const isMention = this.#mentioned === name
    this.#plain(this.#input.slice(this.#at, end))
    this.#at = end
    if (kind === 'thought ends' && this.#code.isQuoted) this.#code.holdThoughtEnd()
    else if (kind === 'thought ends' && !isMention) this.#endThought()
    else if (!this.#code.isQuoted) this.#mentioned = isMention ? undefined : name
  }

  /** All text so far was a thought: the answer begins here. */
  #endThought(): void {
    this.#emit({ type: 'thought' })
    this.#wasCall = this.#isParallel = false
    this.#isLineStart = true
    this.#mentioned = undefined
    this.#code.end()
    // Only once, as it may cause the rest to be read a second time.
    if (!this.#isThoughtOver) this.#isLiteral = false
    this.#isThoughtOver = true
  }

  #stepSpan(span: NonCallSpan): boolean {
    const end = endOfSpan(span, this.#input, this.#at)
    const safe = this.#isEnd ? this.#input.length : this.#input.length - span.longestPartialClose
    const until = Math.max(this.#at, end ?? safe)
    const said = this.#input.slice(this.#at, until)
    if (end !== undefined) this.#span = undefined
    this.#at = until
    this.#plain(said)
    return said !== ''
  }

  #wrap(opens: boolean, source: string): void {
    this.#gap += source
    const wrapper = { isLine: this.#isLineStart, gapLength: this.#gap.length }
    this.#wrapped = opens && !this.#isParallel ? wrapper : undefined
    this.#isParallel = opens
  }

  #open({ name, isEmpty }: Tag & { kind: 'open' }, source: string): void {
    this.#mentioned = undefined
    if (isEmpty && name !== undefined) this.#called({ name, words: [source, '', ''] }, '')
    else this.#body = new CallBody({ name, head: source, isLiteral: this.#isLiteral }, this.#options.patterns)
  }

  #stepBody(body: CallBody): boolean {
    const rest = this.#input.slice(this.#at)
    const step = body.read({ text: rest, isEnd: this.#isEnd })
    this.#at += step.read
    if (step.isJson) this.#emit({ type: 'start', name: body.name! })
    if (step.args !== '') this.#emit({ type: 'args', text: step.args })
    if (!step.ending) return step.read > 0
    this.#endBody(body, step.ending)
    return true
  }

  #endBody(body: CallBody, ending: BodyEnding): void {
    this.#body = undefined
    if (ending === 'again' || ending === 'thought') {
      this.#isLiteral = true
      this.#input = body.rewind(ending) + this.#input.slice(this.#at)
      this.#at = 0
    }
    const name = ending === 'text' || ending === 'thought' ? undefined : body.name
    if (name !== undefined) {
      const { words, nameIn } = body
      this.#called({ name, words, ...(nameIn && { nameIn }) }, body.unsent)
      return
    }
    if (body.isStarted) this.#emit({ type: 'void' })
    this.#plain(body.words.join(''))
  }

  #called(call: Omit<ScannedCall, 'isParallel'>, args: string): void {
    if (!this.#isStarted) this.#emit({ type: 'start', name: call.name })
    if (args !== '') this.#emit({ type: 'args', text: args })
    this.#flushGap('gap')
    this.#emit({ type: 'call', call: { ...call, isParallel: this.#isParallel } })
    this.#wasCall = true
    this.#isLineStart = false
    this.#code.end()
  }

  #stepFence(fence: Fence): boolean {
    const step = fence.read({ text: this.#input.slice(this.#at), isEnd: this.#isEnd })
    this.#at += step.read
    if (step.text !== '') this.#plain(step.text)
    if (!step.ending) return step.read > 0 || step.text !== ''
    this.#endFence(fence, step.ending)
    return true
  }

  #endFence(fence: Fence, ending: FenceEnding): void {
    this.#fence = undefined
    if (ending === 'thought') {
      if (fence.isHeld) this.#plain(fence.head + fence.inner)
      this.#endThought()
    }
    if (ending === 'inline') {
      if (fence.ticks[0] === '`') this.#code.toggle(fence.ticks.length)
      this.#plain(fence.ticks)
      this.#input = fence.info + this.#input.slice(this.#at)
      this.#at = 0
    }
    if (ending === 'held') this.#judge(fence)
  }

  /** Decides whether a complete fence that begins with a call holds nothing but calls. */
  #judge({ head, inner, tail }: Fence): void {
    const { isKnown = () => true } = this.#options
    const found = scan(inner, { ...this.#options, fences: false })
    const isOther = (one: Scanned): boolean =>
      one.type === 'text' ||
      one.type === 'void' ||
      one.type === 'thought' ||
      (one.type === 'call' && !isKnown(one.call.name))
    if (found.some(isOther) || !found.some(({ type }) => type === 'call')) {
      this.#plain(head + inner + tail)
      return
    }
    const wasParallel = this.#isParallel
    this.#gap += head
    for (const one of found) {
      if (one.type === 'gap') this.#gap += one.text
      if (one.type !== 'call') continue
      this.#isParallel = wasParallel || one.call.isParallel
      this.#called(one.call, parametersText(one.call.words[1], one.call.nameIn))
    }
    this.#isParallel = wasParallel
    this.#gap += tail
  }

  #plain(text: string): void {
    if (text === '') return
    if (this.#wrapped) {
      const { isLine, gapLength } = this.#wrapped
      this.#isParallel = isLine && this.#gap.slice(gapLength).includes('\n')
      this.#wrapped = undefined
    }
    this.#flushGap(this.#wasCall ? 'gap' : 'text')
    this.#emit({ type: 'text', text })
    this.#wasCall = false
    this.#isLineStart = false
  }

  #flushGap(type: 'gap' | 'text'): void {
    this.#wrapped = undefined
    if (this.#gap !== '') this.#emit({ type, text: this.#gap })
    this.#gap = ''
  }

  #emit(event: Scanned): void {
    if (event.type === 'start') this.#isStarted = true
    if (event.type === 'call' || event.type === 'void') this.#isStarted = false
    const last = this.#out.at(-1)
    const isMore = (event.type === 'text' || event.type === 'args') && last?.type === event.type
    if (isMore) this.#out[this.#out.length - 1] = { type: event.type, text: last.text + event.text }
    else this.#out.push(event)
  }

  /** True if nothing is left. */
  #finish(): boolean {
    if (this.#body) {
      this.#endBody(this.#body, this.#body.ending())
      return false
    }
    if (this.#fence) {
      this.#endFence(this.#fence, this.#fence.ending())
      return false
    }
    if (this.#ticks !== '') {
      this.#endTicks()
      return false
    }
    if (this.#code.wasThoughtEnd) this.#endLine()
    this.#flushGap(this.#wasCall ? 'gap' : 'text')
    return true
  }
}

const backticks = /`+/y
const tildes = /~+/y
const spaces = /\s+/y
const plain = /[^\s<`~]+/y
