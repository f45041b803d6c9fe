import { libero } from './libero.ts'
import { endWith, processIo } from './process-io.ts'

const io = processIo()
await endWith(await libero(process.argv.slice(2), io), io)
