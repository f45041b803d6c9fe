/**
 * What a module names as its neighbours: the relative paths it imports, requires or makes a URL of. Words in comments
 * count too; a path that is put together while the module runs cannot be seen.
 */
export function relativeImports(source: string): readonly string[] {
  return [...source.matchAll(pattern)].flatMap(([, , path]) => (path === undefined ? [] : [path]))
}

/** What a path without an ending may mean. */
export const importEndings: readonly string[] = ['', '.js', '.ts', '.mjs', '.cjs', '.json', '/index.js', '/index.ts']

/** Whether a file may import others. */
export function isModule(path: string): boolean {
  return /\.[cm]?[jt]sx?$/i.test(path)
}

// Linear on every input: no two parts can share characters.
const pattern = /\b(?:from|import|require|resolve|URL)\s*(?:\(\s*)?(['"`])(\.{1,2}\/[^'"`\n]+)\1/g
