import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { callTool } from './tools-call.ts'

/** Reads twenty pages of a file, or all of it; prints how many KB of memory this process took at its peak. */
const [path = '', lines = '1', how = 'pages'] = process.argv.slice(2)
const step = Math.max(1, Math.floor(Number(lines) / 20))
for (let offset = 1; offset <= Number(lines); offset += step) {
  if (how === 'whole')
    readFileSync(path, 'utf8')
      .split('\n')
      .slice(offset, offset + 2000)
  else await callTool(dirname(path), 'read_file', { path: basename(path), offset })
}
console.log(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1])
