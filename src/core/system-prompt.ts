/** The system prompt in named sections. What is set before the first turn stays the same bytes for the whole run. */
export class SystemPrompt {
  readonly #sections = new Map<string, string>()
  #text: string | undefined

  /** Sections stand in the order in which they were first set; an empty one is left out. */
  set(name: string, text: string): void {
    this.#sections.set(name, text)
    this.#text = undefined
  }

  /** By name, in order; to tell which of them changed. */
  get sections(): ReadonlyMap<string, string> {
    return this.#sections
  }

  get text(): string {
    this.#text ??= [...this.#sections.values()].filter((section) => section !== '').join('\n\n')
    return this.#text
  }
}
