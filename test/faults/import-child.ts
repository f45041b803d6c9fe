import { readFileSync } from 'node:fs'
import { onFailpoint } from '../../src/core/log.ts'
import { importSession } from '../../src/sessions/export.ts'
import { createJsonlStore } from '../../src/sessions/jsonl-store.ts'
import { createSqliteStore } from '../../src/sessions/sqlite-store.ts'

/** Imports a file, and is killed when a place is passed for the n-th time. */
const [kind = '', path = '', file = '', place = '', n = ''] = process.argv.slice(2)
let passed = 0
onFailpoint((name) => {
  if (name.split(':')[0] === place && ++passed === Number(n)) process.kill(process.pid, 'SIGKILL')
})
const store = kind === 'sqlite' ? createSqliteStore({ path }) : createJsonlStore({ dir: path })
await importSession(store, readFileSync(file, 'utf8'))
