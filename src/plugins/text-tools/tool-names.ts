import type { ToolSpec } from '../../core/tool.ts'

/** The tool that a model means by a name. Tools of MCP servers may be written with hyphens, where that is clear. */
export class ToolNames {
  readonly #names: ReadonlySet<string>
  readonly #hyphened = new Map<string, string | undefined>()

  constructor(tools: readonly ToolSpec[]) {
    this.#names = new Set(tools.map(({ name }) => name))
    for (const name of this.#names) {
      if (!name.startsWith('mcp_')) continue
      const written = name.replaceAll('_', '-')
      this.#hyphened.set(written, this.#hyphened.has(written) ? undefined : name)
    }
  }

  readonly meant = (said: string): string => {
    if (this.#names.has(said)) return said
    return this.#hyphened.get(said.replaceAll('_', '-')) ?? said
  }

  readonly isKnown = (said: string): boolean => this.#names.has(this.meant(said))
}
