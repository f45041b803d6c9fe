import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('FL47 no engine is loaded before it is used, and one that is missing is named', async () => {
  const script = `
    import { registerHooks } from 'node:module'
    const asked = []
    registerHooks({
      resolve(specifier, context, next) {
        if (!/^(pg-boss|@dbos-inc\\/dbos-sdk|postgres)$/.test(specifier)) return next(specifier, context)
        asked.push(specifier)
        throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
      },
    })
    const { dbosDispatcher, inProcessDispatcher, pgBossDispatcher } = await import('./src/durable/index.ts')
    const url = 'postgres://libero@127.0.0.1:1/none'
    const made = [inProcessDispatcher(), pgBossDispatcher({ url }), dbosDispatcher({ url })]
    await made[0].wake('s', { kind: 'coder' })
    const before = [...asked]
    const said = []
    for (const one of made) said.push(await one.wake('s', { kind: 'coder' }).then(() => 'done', (error) => error.message))
    for (const one of made) await one.close()
    console.log(JSON.stringify({ before, said }))
  `
  const args = ['--conditions=libero-source', '--input-type=module', '-e', script]
  const cwd = fileURLToPath(new URL('../../..', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd })
  expect(JSON.parse(stdout)).toEqual({
    before: [],
    said: [
      'done',
      'pgBossDispatcher needs the package "pg-boss": npm install pg-boss',
      'dbosDispatcher needs the package "@dbos-inc/dbos-sdk": npm install @dbos-inc/dbos-sdk',
    ],
  })
})
