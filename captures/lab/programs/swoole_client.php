<?php
// The loads of Swoole's fin.phpt and greeter.phpt: C connections, N frames or greetings each.
[$_, $port,$nodelay,$C,$N,$mode]=$argv; $count=0; $t=microtime(true);
Swoole\Coroutine\run(function() use($port,$nodelay,$C,$N,$mode,&$count){
 for($c=$C;$c--;) go(function() use($port,$nodelay,$N,$mode,&$count){
  $cli=new Swoole\Coroutine\Http\Client('127.0.0.1',(int)$port);
  $cli->set(['timeout'=>20,'open_tcp_nodelay'=>(bool)(int)$nodelay]);
  if(!$cli->upgrade('/')) { echo "no upgrade\n"; return; }
  if($mode==='greet'){ for($k=0;$k<$N;$k++){ $cli->push('greet'); for($i=0;$i<20;$i++) $cli->recv(); } $count++; return; }
  $l=[];
  for($n=$N;$n--;){ $r=random_bytes(mt_rand(1,1280)); $l[]=$r; $op=$n===$N-1?WEBSOCKET_OPCODE_TEXT:WEBSOCKET_OPCODE_CONTINUATION;
    if(mt_rand(0,1)){ $f=new Swoole\WebSocket\Frame; $f->opcode=$op; $f->data=$r; $f->finish=$n===0; $cli->push($f);} else $cli->push($r,$op,$n===0); }
  $f=$cli->recv(); if($f && $f->data===implode('',$l)) $count++;
 });
});
printf("%d of %d right, %.2f s\n",$count,$C,microtime(true)-$t);
