import type { Plugin } from 'rolldown'
import { buildPage } from './build-page.ts'
import type { Licences } from './licences.ts'

/** Puts the files of the page into the package, as text in a chunk of its own. */
export function pageAsText(licences: Licences): Plugin {
  return {
    name: 'page-as-text',
    load: {
      filter: { id: /\/src\/web\/page-files\.ts$/ },
      async handler() {
        const { files, modules } = await buildPage()
        for (const file of modules) licences.note(file)
        const text = JSON.stringify(files).replace(/[\u0080-\uffff]/g, escaped)
        return `const files = JSON.parse(${JSON.stringify(text)})\nexport const pageFiles = async () => files`
      },
    },
  }
}

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
