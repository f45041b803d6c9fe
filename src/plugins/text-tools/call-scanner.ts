import { CallBody } from './call-body.ts'
import { Fence } from './fence.ts'
import { readTag, type Tag } from './read-tag.ts'
import type { Scanned, ScannedCall, ScanOptions } from './scanned.ts'

/** Everything in a text that is complete. */
export function scan(text: string, options: ScanOptions): Scanned[] {
  const scanner = new CallScanner(options)
  return [...scanner.push(text), ...scanner.end()]
}

/**
 * Finds calls in a text that comes in pieces, however it is cut. Each character is looked at a bounded number of times,
 * and what cannot be part of a call is given out at once. Quoted calls are text: those in inline code, and those in a
 * fence, unless it holds calls and nothing else.
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
  /** A wrapper that has opened, as long as nothing shows whether it is one or only spoken of. */
  #wrapped: { readonly isLine: boolean; readonly gapLength: number } | undefined

  #isLineStart = true
  /** How many backticks opened the inline code we are in. */
  #span = 0
  #ticks = ''
  /** What they are: reading them out of a text that grows would copy it each time. */
  #tick = ''
  #fence: Fence | undefined
  #body: CallBody | undefined
  /** Quotes in parameters turned out not to be trusted: from here on the first closing tag closes. */
  #isLiteral = false

  constructor(options: ScanOptions) {
    this.#options = options
  }

  push(text: string): Scanned[] {
    this.#input = this.#input.slice(this.#at) + text
    this.#at = 0
    this.#goOn()
    return this.#taken()
  }

  end(): Scanned[] {
    this.#isEnd = true
    do this.#goOn()
    while (!this.#finish())
    return this.#taken()
  }

  #taken(): Scanned[] {
    const out = this.#out
    this.#out = []
    return out
  }

  #goOn(): void {
    while (this.#at < this.#input.length && this.#step());
  }

  /** False where more text is needed. */
  #step(): boolean {
    if (this.#body) return this.#stepBody(this.#body)
    if (this.#fence) return this.#stepFence(this.#fence)
    return this.#stepText()
  }

  #stepText(): boolean {
    const char = this.#input[this.#at]!
    if (this.#ticks !== '' && char !== this.#tick) {
      this.#settleTicks()
      return true
    }
    if (char === '`' || char === '~') {
      this.#tick = char
      this.#ticks += this.#match(char === '`' ? backticks : tildes)
      return true
    }
    if (char === '<') return this.#stepTag()
    const space = this.#match(spaces)
    if (space === '') {
      this.#plain(this.#match(plain))
      return true
    }
    this.#gap += space
    if (space.includes('\n')) {
      this.#isLineStart = true
      this.#span = 0
    }
    return true
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#input)?.[0] ?? ''
    this.#at += found.length
    return found
  }

  #settleTicks(): void {
    const ticks = this.#ticks
    this.#ticks = ''
    const mayFence = this.#options.fences !== false && this.#isLineStart && this.#span === 0
    if (mayFence && ticks.length >= 3) {
      this.#fence = new Fence(ticks, this.#options.patterns)
      return
    }
    this.#toggleSpan(ticks)
    this.#plain(ticks)
  }

  #toggleSpan(ticks: string): void {
    if (ticks[0] !== '`') return
    if (this.#span === 0) this.#span = ticks.length
    else if (this.#span === ticks.length) this.#span = 0
  }

  #stepTag(): boolean {
    const tag = this.#tag()
    if (tag === 'more') return false
    if (!tag || tag.kind === 'close' || this.#span > 0) {
      this.#at++
      this.#plain('<')
      return true
    }
    const source = this.#input.slice(this.#at, tag.end)
    this.#at = tag.end
    if (tag.kind === 'open') this.#open(tag, source)
    else this.#wrap(tag.kind === 'wrap', source)
    return true
  }

  #tag(): Tag | 'more' | undefined {
    return readTag({ text: this.#input, at: this.#at, isEnd: this.#isEnd }, this.#options.patterns)
  }

  #wrap(opens: boolean, source: string): void {
    this.#gap += source
    this.#wrapped = opens && !this.#isParallel ? this.#newWrapper() : undefined
    this.#isParallel = opens
  }

  #newWrapper(): { isLine: boolean; gapLength: number } {
    return { isLine: this.#isLineStart, gapLength: this.#gap.length }
  }

  #open({ name, isEmpty }: Tag & { kind: 'open' }, source: string): void {
    if (!isEmpty) this.#body = new CallBody({ name, head: source, isLiteral: this.#isLiteral }, this.#options.patterns)
    else this.#called({ name, words: [source, '', ''] }, '')
  }

  #stepBody(body: CallBody): boolean {
    const rest = this.#input.slice(this.#at)
    const step = body.read({ text: rest, isEnd: this.#isEnd })
    this.#at += step.read
    if (step.isJson) this.#emit({ type: 'start', name: body.name })
    if (step.args !== '') this.#emit({ type: 'args', text: step.args })
    if (!step.ending) return step.read > 0
    this.#endBody(body, step.ending)
    return true
  }

  #endBody(body: CallBody, ending: 'call' | 'text' | 'again'): void {
    this.#body = undefined
    if (ending === 'call') {
      this.#called(body, body.unsent)
      return
    }
    if (ending === 'again') {
      this.#isLiteral = true
      this.#input = body.rewind() + this.#input.slice(this.#at)
      this.#at = 0
      this.#called(body, body.unsent)
      return
    }
    if (body.isStarted) this.#emit({ type: 'void' })
    this.#plain(body.words.join(''))
  }

  #called({ name, words }: Omit<ScannedCall, 'isParallel'>, args: string): void {
    if (!this.#isStarted) this.#emit({ type: 'start', name })
    if (args !== '') this.#emit({ type: 'args', text: args })
    this.#flushGap('gap')
    this.#emit({ type: 'call', call: { name, words, isParallel: this.#isParallel } })
    this.#wasCall = true
    this.#isLineStart = false
    this.#span = 0
  }

  #stepFence(fence: Fence): boolean {
    const step = fence.read({ text: this.#input.slice(this.#at), isEnd: this.#isEnd })
    this.#at += step.read
    if (step.text !== '') this.#plain(step.text)
    if (!step.ending) return step.read > 0 || step.text !== ''
    this.#endFence(fence, step.ending)
    return true
  }

  #endFence(fence: Fence, ending: 'done' | 'held' | 'inline'): void {
    this.#fence = undefined
    if (ending === 'inline') {
      this.#toggleSpan(fence.ticks)
      this.#plain(fence.ticks)
      this.#input = fence.info + this.#input.slice(this.#at)
      this.#at = 0
    }
    if (ending === 'held') this.#judge(fence)
  }

  /** A fence that begins with a call is complete. */
  #judge({ head, inner, tail }: Fence): void {
    const { isKnown = () => true } = this.#options
    const found = scan(inner, { ...this.#options, fences: false })
    const isOther = (one: Scanned): boolean =>
      one.type === 'text' || one.type === 'void' || (one.type === 'call' && !isKnown(one.call.name))
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
      this.#called(one.call, one.call.words[1].trim())
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

  /** True when nothing is left to look at. */
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
      this.#settleTicks()
      return false
    }
    this.#flushGap(this.#wasCall ? 'gap' : 'text')
    return true
  }
}

const backticks = /`+/y
const tildes = /~+/y
const spaces = /\s+/y
const plain = /[^\s<`~]+/y
