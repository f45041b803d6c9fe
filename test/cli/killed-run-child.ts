import { onFailpoint } from '../../src/core/log.ts'

/** The command line from source. The first argument names the failpoint at which it is killed. */
const [place = ''] = process.argv.splice(2, 1)
onFailpoint((name) => {
  if (name.startsWith(place)) process.kill(process.pid, 'SIGKILL')
})
await import('../../src/cli/main.ts')
