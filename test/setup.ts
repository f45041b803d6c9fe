/** Tests talk to nobody: a request that leaves the process is a bug in the test. */
globalThis.fetch = () => {
  throw new Error('No network in tests: inject a fetch of your own')
}
