import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'rolldown'

/** The licences of the packages whose code is a part of the package. */
export class Licences {
  readonly #texts = new Map<string, string>()

  /** Notes the licence of the package that a file belongs to. */
  note(file: string): void {
    const [, folder, name] = /^\0?(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(file) ?? []
    if (folder === undefined || name === undefined || this.#texts.has(name)) return
    const own = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
    const { license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { license: string }
    this.#texts.set(name, own === undefined ? `License: ${license}` : readFileSync(join(folder, own), 'utf8'))
  }

  /** Writes them into a file beside the code, once everything is loaded. */
  plugin(): Plugin {
    const texts = this.#texts
    return {
      name: 'licences',
      generateBundle() {
        const source = [...texts].sort().map(([name, text]) => `# ${name}\n\n${text.trim()}\n`)
        this.emitFile({ type: 'asset', fileName: 'third-party-licenses.txt', source: source.join('\n') })
      },
    }
  }
}
