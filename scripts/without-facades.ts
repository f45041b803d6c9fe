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
    for (const chunk of chunks)
      chunk.code = chunk.code.replace(dynamicImport, (whole, path, name) => {
        const facade = facades.get(name)
        return facade ? `import("${path}${facade.target}").then((m) => ({ ${facade.names} }))` : whole
      })
    for (const name of facades.keys()) delete bundle[`chunks/${name}`]
  },
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
