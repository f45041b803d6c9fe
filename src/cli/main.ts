const [command, ...args] = process.argv.slice(2)

if (command === 'policy') {
  const { policy } = await import('./policy.ts')
  const io = { cwd: process.cwd(), out: console.log, err: console.error }
  process.exitCode = await policy(args, io)
} else {
  const { demo } = await import('./demo.ts')
  await demo(process.stdout)
}
