import { execFileSync } from 'node:child_process'
import { createSqliteStore } from '../../src/sessions/sqlite-store.ts'
import { entry, lease } from '../../src/testing/store-contract-kit.ts'

/** Writes, has all files made immutable in mid-run, goes on, and ends by itself. Says what each step came to. */
const [folder = ''] = process.argv.slice(2)
const store = createSqliteStore({ path: `${folder}/s.db` })
const { epoch } = await lease(store)
await store.append('s', [entry(1)], { epoch, head: 0 })
execFileSync('chattr', ['-R', '+i', folder])
const said: string[] = []
const note = async (work: Promise<unknown>): Promise<void> => {
  said.push(
    await work.then(
      () => 'done',
      (error) => `${error.code}: ${error.message}`,
    ),
  )
}
await note(store.append('s', [entry(2)], { epoch, head: 1 }))
await note(store.read('s'))
await note(store.close())
process.stdout.write(JSON.stringify(said))
