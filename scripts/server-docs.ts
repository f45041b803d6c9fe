import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { allRoutes } from '../src/server/routes/all-routes.ts'

export const serverDocsPath: string = fileURLToPath(new URL('../docs/server.md', import.meta.url))

const marks = ['<!-- routes -->', '<!-- end of routes -->'] as const

/** docs/server.md with the table of routes as they are. */
export function serverDocs(page = readFileSync(serverDocsPath, 'utf8')): string {
  const rows = allRoutes.map(({ method, path, scope, summary, query = {} }) => {
    const names = Object.keys(query)
    const parameters = names.length === 0 ? '' : `. Query: ${names.map((name) => `\`${name}\``).join(', ')}`
    return `| \`${method} ${path}\` | ${scope === 'public' ? '–' : scope} | ${summary}${parameters} |`
  })
  const table = ['| route | scope | |', '|---|---|---|', ...rows].join('\n')
  const [from, to] = [page.indexOf(marks[0]), page.indexOf(marks[1])]
  if (from < 0 || to < from) throw new Error(`docs/server.md needs the lines ${marks.join(' and ')}`)
  return `${page.slice(0, from)}${marks[0]}\n\n${table}\n\n${page.slice(to)}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(serverDocsPath, serverDocs())
