import { onFailpoint } from '../../src/core/log.ts'

/** The command line from source, killed where the first word of argv says; the rest is its arguments. */
const [place = ''] = process.argv.splice(2, 1)
onFailpoint((name) => {
  if (name.startsWith(place)) process.kill(process.pid, 'SIGKILL')
})
await import('../../src/cli/main.ts')
