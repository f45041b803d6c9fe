import { demo } from './demo.ts'

await demo(process.stdout)
