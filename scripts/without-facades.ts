import { basename } from 'node:path'
import type { Plugin } from 'rolldown'

/**
 * A module that is imported when it is needed, but lies in a chunk with others, gets a second file that only names it:
 * `export { t as work } from "./work.js"`. Here its importers take the names out of the chunk itself, and the second file,
 * which would cost time at each start, is left out.
 */
export const withoutFacades: Plugin = {
  name: 'without-facades',
  generateBundle(_, bundle) {
    const chunks = Object.values(bundle).filter((file) => file.type === 'chunk')
    const facades = new Map(chunks.flatMap(({ fileName, isEntry, code }) => (isEntry ? [] : facadeIn(fileName, code))))
    for (const chunk of chunks) {
      const code = chunk.code.replace(dynamicImport, (whole, path, name) => {
        const facade = facades.get(name)
        return facade ? `import("${path}${facade.target}").then((m) => ({ ${facade.names} }))` : whole
      })
      chunk.code = withoutImportOfItself(basename(chunk.fileName), code)
    }
    for (const name of facades.keys()) delete bundle[`chunks/${name}`]
  },
}

/**
 * A chunk that imports itself takes its own exports: esbuild and bun, when they split the code of an application that uses
 * the package, make a call of a function that does not exist out of such an import.
 */
function withoutImportOfItself(name: string, code: string): string {
  const itself = `import("./${name}")`
  if (!code.includes(itself)) return code
  const [, exported] = /^export \{ ([^}]+) \};$/m.exec(code) ?? []
  if (exported === undefined) throw new Error(`${name} imports itself and has no list of exports at its end`)
  const names = exported.split(', ').map((each) => {
    const [inside, outside = inside] = each.split(' as ')
    return `${outside}: ${inside}`
  })
  return `${code.replaceAll(itself, 'Promise.resolve(exportsOfThisChunk())')}function exportsOfThisChunk() {\n\treturn { ${names.join(', ')} };\n}\n`
}

interface Facade {
  readonly target: string
  /** `work: m.t` */
  readonly names: string
}

const dynamicImport = /\bimport\("((?:\.\.?\/)+(?:chunks\/)?)([\w.-]+\.js)"\)/g

function facadeIn(fileName: string, code: string): [string, Facade][] {
  const [, names, target] = /^(?:import "[^"]+";\n)*export \{ ([^}]+) \} from "\.\/([^"]+)";\s*$/.exec(code) ?? []
  if (names === undefined || target === undefined || !fileName.startsWith('chunks/')) return []
  const picked = names.split(', ').map((name) => {
    const [inside, outside = inside] = name.split(' as ')
    return `${outside}: m.${inside}`
  })
  return [[fileName.slice('chunks/'.length), { target, names: picked.join(', ') }]]
}
