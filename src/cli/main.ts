import { libero } from './libero.ts'
import { endWith, processIo } from './process-io.ts'

await endWith(await libero(process.argv.slice(2), processIo()))
