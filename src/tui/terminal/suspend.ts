/** Stops this process group as Ctrl-Z does. Resolves when it continues, also if it could not be stopped. */
export function suspend(): Promise<void> {
  if (process.platform !== 'win32') process.kill(0, 'SIGTSTP')
  return new Promise((resolve) => setTimeout(resolve, signalMs))
}

/** Time for the signal to arrive. The timer does not run while the process is stopped. */
const signalMs = 100
