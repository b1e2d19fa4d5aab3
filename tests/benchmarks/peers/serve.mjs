// What every Node worker does: reads requests, prepares jobs, runs and times them.
import { createInterface } from "node:readline";

export function timed(turn) {
  return (count) => {
    const start = performance.now();
    for (let i = 0; i < count; i++) turn();
    return (performance.now() - start) / 1000;
  };
}

export async function serve(jobs) {
  let prepared = {};
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    let answer;
    try {
      if (request.do === "forget") {
        prepared = {};
        answer = { ready: "" };
      } else if (request.do === "prepare") {
        prepared[request.job] = jobs[request.job](request.parameters);
        answer = { ready: request.job };
      } else {
        answer = { seconds: prepared[request.job](request.count) };
      }
    } catch (error) {
      answer = { error: `${error.stack}` };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
}
